import { isBuiltin } from 'node:module'
import { pathToFileURL } from 'node:url'
import type { Plugin } from 'esbuild'

/** Such a path is no file. As `.mjs` it imports CommonJS as Node does: `default` is `module.exports`. */
const ending = '.names.mjs'

/**
 * Adds the export names of Node to each `import()` of an npm package. esbuild creates a separate file for such an
 * import, with the names that are in the text: for CommonJS, whose names are known only at run time, only `default`.
 */
export const packageNames: Plugin = {
  name: 'package names',
  setup({ onResolve, onLoad, resolve }) {
    onResolve({ filter: /^[^./]/ }, async ({ path, kind, importer, resolveDir }) => {
      if (kind !== 'dynamic-import' || isBuiltin(path) || path.startsWith('@warder/')) return undefined
      const found = await resolve(path, { kind: 'import-statement', importer, resolveDir })
      if (found.external || found.errors.length > 0) return found
      return { path: `${found.path}${ending}` }
    })
    onLoad({ filter: /\.names\.mjs$/ }, async ({ path }) => {
      const file = path.slice(0, -ending.length)
      const names = Object.keys((await import(pathToFileURL(file).href)) as object)
      // Node's own name for all of a CommonJS module, which `default` is too.
      const named = names.filter((name) => name !== 'module.exports')
      return {
        contents: `export { ${named.map((name) => JSON.stringify(name)).join(', ')} } from ${JSON.stringify(file)}`,
        loader: 'js',
      }
    })
  },
}
