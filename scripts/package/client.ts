import { cpSync, globSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../bundle/entry-points.ts'
import { compile } from './compile.ts'
import { createPackedManifest, readManifest } from './manifest.ts'

/** File of the workspace that becomes part of the client's archive. */
const requests = 'http-client'

/**
 * Makes the folder of the npm package `@warder/client`: JavaScript with types for Node 20 and later and for browsers,
 * without any dependency.
 * @param folder is made anew
 */
export function stageClient(folder: string): void {
  const compiled = `${folder}.compiled`
  compile(['client', `outbound/${requests}.ts`], compiled, { target: 'es2022', types: true })
  rmSync(folder, { recursive: true, force: true })
  renameSync(join(compiled, 'client'), folder)
  for (const extension of ['js', 'd.ts'])
    renameSync(
      join(compiled, 'outbound', `${requests}.${extension}`),
      join(folder, `${requests}.${extension}`),
    )
  rmSync(compiled, { recursive: true })
  for (const found of globSync('*.{js,d.ts}', { cwd: folder })) {
    const file = join(folder, found)
    // They make its types in the workspace.
    if (/^(generate|schema-type)\./.test(found)) rmSync(file)
    else
      writeFileSync(
        file,
        readFileSync(file, 'utf8').replaceAll(`'@warder/outbound/${requests}'`, `'./${requests}.js'`),
      )
  }
  const { exports: _, ...manifest } = createPackedManifest(readManifest('packages/client'))
  const [types, browser] = ['./index.d.ts', './browser.js']
  const exports = {
    '.': { browser: { types: './browser.d.ts', default: browser }, types, default: './index.js' },
    './browser': { types: './browser.d.ts', default: browser },
  }
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify({ ...manifest, exports }, undefined, 2)}\n`)
  cpSync(join(root, 'LICENSE'), join(folder, 'LICENSE'))
}
