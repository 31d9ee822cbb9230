// Builds the page of the console into `dist/`, unless it is built of the sources as they are: `node build.ts`.
import { createHash, randomUUID } from 'node:crypto'
import { existsSync, globSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { InlineConfig } from 'vite'

const folder = fileURLToPath(new URL('.', import.meta.url))
const root = join(folder, '..', '..')
const dist = join(folder, 'dist')
const stampFile = join(dist, 'sources.sha256')

/** SHA-256 of all sources of the page, its dependencies, and this file. */
function hashSources(): string {
  const files = [
    ...globSync('page/**/*.*', { cwd: folder }).map((name) => join(folder, name)),
    ...globSync('*.ts', { cwd: join(folder, '..', 'client') })
      .filter((name) => !name.endsWith('.test.ts'))
      .map((name) => join(folder, '..', 'client', name)),
    ...[join(folder, 'build.ts'), join(folder, 'package.json'), join(root, 'package-lock.json')],
  ]
  const hash = createHash('sha256')
  for (const file of files.sort()) {
    const content = readFileSync(file)
    hash.update(`\0${relative(root, file)}\0${content.length}\0`).update(content)
  }
  return hash.digest('hex')
}

function configure(outDir: string): InlineConfig {
  return {
    root: join(folder, 'page'),
    base: '/ui/',
    configFile: false,
    logLevel: 'error',
    esbuild: { jsx: 'automatic' },
    build: {
      outDir,
      target: 'es2022',
      // Inlined files would need `data:` in the policy of the page.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
      rollupOptions: {
        onwarn(warning, warn) {
          // Directives for React servers, of which there is none.
          if (warning.code !== 'MODULE_LEVEL_DIRECTIVE') warn(warning)
        },
      },
    },
  }
}

/**
 * Builds the page if its sources have changed since. Several processes may do so at once.
 * @returns folder of the built files @throws Error with the message of Vite
 */
export async function buildConsole(): Promise<string> {
  const sources = hashSources()
  const isBuilt = (): boolean => existsSync(stampFile) && readFileSync(stampFile, 'utf8') === sources
  if (isBuilt()) return dist
  // Loaded on demand: most starts build nothing.
  const { build } = await import('vite')
  const making = join(folder, `dist.making-${randomUUID()}`)
  try {
    const result = await build(configure(making))
    const modules = [result].flat().flatMap((each) => ('output' in each ? each.output : []))
    writeFileSync(join(making, 'packages.json'), `${JSON.stringify(findPackages(modules), undefined, 2)}\n`)
    for (const file of globSync('**/*.{html,js,css,svg}', { cwd: making })) compress(join(making, file))
    writeFileSync(join(making, 'sources.sha256'), sources)
    replaceDist(making, isBuilt)
  } finally {
    rmSync(making, { recursive: true, force: true })
  }
  return dist
}

/** @throws Error when it can neither be replaced nor has another process built the same */
function replaceDist(making: string, isBuilt: () => boolean): void {
  // Another process may have been first, whose files may be in use.
  if (isBuilt()) return
  const old = join(folder, `dist.making-${randomUUID()}`)
  try {
    if (existsSync(dist)) renameSync(dist, old)
    renameSync(making, dist)
  } catch (error) {
    if (!isBuilt()) throw error
  } finally {
    rmSync(old, { recursive: true, force: true })
  }
}

/** Folders of the npm packages whose code is in the built page, from the root: for their licences. */
export function listPackages(): readonly string[] {
  return JSON.parse(readFileSync(join(dist, 'packages.json'), 'utf8')) as string[]
}

function findPackages(output: readonly { readonly type: string; readonly moduleIds?: readonly string[] }[]) {
  const folders = output
    .flatMap(({ moduleIds = [] }) => moduleIds)
    .map((id) => /node_modules\/(?:.*node_modules\/)?(?:@[^/]+\/)?[^/]+/.exec(id.replaceAll('\\', '/'))?.[0])
  return [...new Set(folders.filter((each) => each !== undefined))].sort()
}

function compress(file: string): void {
  const content = readFileSync(file)
  writeFileSync(`${file}.gz`, gzipSync(content, { level: 9 }))
  const size = { [constants.BROTLI_PARAM_SIZE_HINT]: content.length }
  writeFileSync(`${file}.br`, brotliCompressSync(content, { params: size }))
}

if (import.meta.main) {
  process.stdout.write(`${await buildConsole()}\n`)
}
