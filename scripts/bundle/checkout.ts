// Makes the bundle of this checkout where there is none of its sources yet, and prints its folder: `node checkout.ts`.
import { createHash, randomUUID } from 'node:crypto'
import {
  existsSync,
  globSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs'
import { join } from 'node:path'
import { packages, root } from './entry-points.ts'

const folder = join(root, 'node_modules', '.warder-bundles')
/** A running Warder loads parts of its bundle when they are needed, so that those of the last changes stay. */
const mostKept = 8

/** SHA-256 of all that a bundle is made of: sources and files of the packages, dependencies, and what bundles them. */
export function hashOfSources(): string {
  const isNoPart = /(^|\/)node_modules(\/|$)|\.test\.ts$/
  const files = [
    ...globSync('**/*', {
      cwd: packages,
      withFileTypes: true,
      exclude: ({ name }) => name === 'node_modules',
    })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name)),
    ...globSync('*.ts', { cwd: import.meta.dirname }).map((name) => join(import.meta.dirname, name)),
    ...['package-lock.json', 'tsconfig.json'].map((name) => join(root, name)),
  ].filter((file) => !isNoPart.test(file.slice(root.length)))
  const hash = createHash('sha256').update(process.version)
  for (const file of files.toSorted()) {
    const content = readFileSync(file)
    hash.update(`\0${file.slice(root.length)}\0${content.length}\0`).update(content)
  }
  return hash.digest('hex')
}

/**
 * The bundle of this checkout as it is now.
 * @returns its folder @throws Error where the sources cannot be bundled
 */
export async function bundleOfCheckout(): Promise<string> {
  const made = join(folder, hashOfSources())
  if (existsSync(made)) {
    utimesSync(made, new Date(), new Date())
    return made
  }
  const { bundle } = await import('./bundle.ts')
  const making = join(folder, `making-${randomUUID()}`)
  try {
    await bundle(making)
    if (!existsSync(made)) renameSync(making, made)
  } catch (error) {
    // Another process may have been first.
    if (!existsSync(made)) throw error
  } finally {
    rmSync(making, { recursive: true, force: true })
  }
  removeOld()
  return made
}

function removeOld(): void {
  const found = readdirSync(folder)
    .filter((name) => !name.startsWith('making-'))
    .map((name) => join(folder, name))
    .map((path) => ({ path, time: statSync(path).mtimeMs }))
    .toSorted((a, b) => b.time - a.time)
  for (const { path } of found.slice(mostKept)) rmSync(path, { recursive: true, force: true })
}

if (import.meta.main) process.stdout.write(await bundleOfCheckout())
