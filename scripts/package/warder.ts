import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { compile, root } from './compile.ts'
import { foreignDependencies, manifestOf, packedManifest } from './manifest.ts'

/** Packages of the workspace that the command stands on. */
export const bundled = ['foundation', 'kmip', 'pki', 'covercrypt', 'client', 'auth', 'kms'] as const

/**
 * Makes the folder of the npm package `warder`: the compiled command, and below `node_modules` the compiled packages of
 * the workspace, which travel with it (`bundleDependencies`). Everything else comes from the registry, in the versions of
 * the lock file's workspace; the Node that runs the services too, as an optional dependency for each platform.
 * @param folder is made anew
 */
export function stageWarder(folder: string): void {
  const compiled = `${folder}.compiled`
  compile(['warder', ...bundled], compiled, { target: 'es2025', types: false })
  rmSync(folder, { recursive: true, force: true })
  renameSync(join(compiled, 'warder'), folder)
  const scope = join(folder, 'node_modules', '@warder')
  mkdirSync(scope, { recursive: true })
  for (const name of bundled) {
    renameSync(join(compiled, name), join(scope, name))
    write(join(scope, name, 'package.json'), packedManifest(manifestOf(`packages/${name}`)))
  }
  rmSync(compiled, { recursive: true })
  const entry = join(folder, 'bin', 'warder.mjs')
  writeFileSync(entry, readFileSync(entry, 'utf8').replace("'../main.ts'", "'../main.js'"))
  const all = [manifestOf('packages/warder'), ...bundled.map((name) => manifestOf(`packages/${name}`))]
  write(join(folder, 'package.json'), {
    ...packedManifest(manifestOf('packages/warder')),
    dependencies: {
      ...foreignDependencies(all),
      ...Object.fromEntries(
        bundled.map((name) => [`@warder/${name}`, manifestOf(`packages/${name}`).version]),
      ),
    },
    bundleDependencies: bundled.map((name) => `@warder/${name}`),
    optionalDependencies: manifestOf('.').optionalDependencies,
  })
  for (const file of ['LICENSE', 'README.md']) cpSync(join(root, file), join(folder, file))
}

function write(path: string, manifest: object): void {
  writeFileSync(path, `${JSON.stringify(manifest, undefined, 2)}\n`)
}
