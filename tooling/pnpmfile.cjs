// Adds the address of the repository to a manifest when pnpm packs or publishes the package. Only tooling/repository.json has it.
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
