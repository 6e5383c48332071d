/** Red, green and blue, 0 to 255. */
export type Rgb = readonly [number, number, number];

/** Contrast by WCAG 2, 1 to 21. */
export function contrast(left: Rgb, right: Rgb): number {
  const [low = 0, high = 0] = [luminance(left), luminance(right)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

type Eye = 'trichromat' | 'protanope' | 'deuteranope';

/** What light of each channel becomes for such an eye, after Machado, Oliveira and Fernandes (2009), severity 1. */
const eyes: Readonly<Record<Eye, readonly Rgb[]>> = {
  trichromat: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanope: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranope: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
};

/** How far apart two colors look, in Oklab; about 0.02 is just noticed. */
export function seenDistance(left: Rgb, right: Rgb, eye: Eye): number {
  const [one, other] = [oklab(seen(left, eye)), oklab(seen(right, eye))];
  return Math.hypot(...one.map((value, index) => value - (other[index] ?? 0)));
}

function seen(color: Rgb, eye: Eye): Rgb {
  const light = color.map(linear);
  const [red = 0, green = 0, blue = 0] = eyes[eye].map((row) =>
    Math.min(
      1,
      Math.max(
        0,
        row.reduce((sum, weight, index) => sum + weight * (light[index] ?? 0), 0),
      ),
    ),
  );
  return [red, green, blue];
}

function oklab([red, green, blue]: Rgb): Rgb {
  const long = Math.cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue);
  const medium = Math.cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue);
  const short = Math.cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue);
  return [
    0.2104542553 * long + 0.793617785 * medium - 0.0040720468 * short,
    1.9779984951 * long - 2.428592205 * medium + 0.4505937099 * short,
    0.0259040371 * long + 0.7827717662 * medium - 0.808675766 * short,
  ];
}

function luminance(color: Rgb): number {
  const [red = 0, green = 0, blue = 0] = color.map(linear);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function linear(channel: number): number {
  const value = channel / 255;
  return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
}
