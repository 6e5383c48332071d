// Fills in where the packages come from when pnpm packs or publishes them. The address is in one place: tooling/repository.json.
const { dirname, relative } = require('node:path');
const { url } = require('./repository.json');

module.exports = {
  hooks: {
    beforePacking(manifest, folder) {
      if (url === '') return manifest;
      const directory = relative(dirname(__dirname), folder).replaceAll('\\', '/');
      return {
        ...manifest,
        homepage: `${url}/tree/main/${directory}#readme`,
        bugs: `${url}/issues`,
        repository: { type: 'git', url: `git+${url}.git`, directory },
      };
    },
  },
};
