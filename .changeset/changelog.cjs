// How a changeset becomes an entry of a changelog: its words, and nothing else. The usual lists of updated dependencies are left
// out, because all @x packages have the same version.
module.exports = {
  getReleaseLine: async ({ summary }) => `- ${summary.trim().replaceAll(/\n(?=[^\n])/g, '\n  ')}`,
  getDependencyReleaseLine: async () => '',
};
