import { Html } from './html.js';

const SERIES = [
  ['#767676', '#8c8c8c'],
  ['#3060c8', '#7ba4ff'],
  ['#b5520f', '#f0975a'],
  ['#2b7f4f', '#62c48c'],
  ['#8b3fb0', '#c98bea'],
  ['#a4323f', '#ef8792'],
  ['#0f7c8a', '#5cc6d4'],
] as const;

/** The look of a report. */
export const styleSheet = new Html(`
:root{color-scheme:light dark;--text:light-dark(#1d1d1f,#ececee);--quiet:light-dark(#5c5c60,#a5a5ab);--line:light-dark(#dcdce0,#3a3a3e);--page:light-dark(#fff,#18181a)}
body{margin:0;background:var(--page);color:var(--text);font:15px/24px system-ui,sans-serif}
main{max-width:920px;margin:0 auto;padding:24px 16px 64px}
h1{font-size:22px;line-height:32px}h2{font-size:17px;margin:40px 0 0;overflow-wrap:anywhere}
.facts{color:var(--quiet);font-size:13px;line-height:20px;margin:4px 0 12px}
figure{margin:16px 0}svg{width:100%;min-width:640px;height:auto;display:block}svg text{font-size:12px;fill:var(--quiet)}
path{fill:none;stroke-width:1.75;stroke-linejoin:round}.grid{stroke:var(--line)}.limit{stroke:var(--text);stroke-dasharray:4 4}
figcaption{font-size:13px;color:var(--quiet)}.key{margin-right:16px;white-space:nowrap}
.key i{display:inline-block;width:16px;height:3px;margin-right:6px;vertical-align:middle}
${SERIES.map((pair, index) => `.series-${index}{color:light-dark(${pair})}`).join('\n')}
path{stroke:currentColor}circle{fill:currentColor}i{background:currentColor}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:13px;font-variant-numeric:tabular-nums}
th,td{padding:6px 8px;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}
th:first-child{text-align:left}thead th{color:var(--quiet);font-weight:400}tbody th{font-weight:600}
details{font-size:13px;margin:8px 0}summary{cursor:pointer}code{font:12px ui-monospace,monospace}.names{overflow-wrap:anywhere}
`);
