// Makes the bundle of this checkout if there is none of its sources yet, and prints its folder: `node checkout.ts`. In
// a checkout that this user cannot write to it prints nothing.
import { createHash, randomUUID } from 'node:crypto'
import {
  existsSync,
  globSync,
  mkdirSync,
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
const maxKept = 8

/** SHA-256 of all inputs of a bundle: sources and files of the packages, dependencies, and the bundler. */
export function hashOfSources(): string {
  const isNoPart = /(^|\/)node_modules(\/|$)|\.test\.ts$/
  const files = [
    ...globSync('**/*', {
      cwd: packages,
      withFileTypes: true,
      // The page of the console is built from its sources.
      exclude: ({ name }) => name === 'node_modules' || /^dist(?:\.making-|$)/.test(name),
    })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name)),
    ...globSync('*.ts', { cwd: import.meta.dirname }).map((name) => join(import.meta.dirname, name)),
    ...['package-lock.json', 'tsconfig.json'].map((name) => join(root, name)),
  ].filter((file) => !isNoPart.test(file.slice(root.length)))
  return hashOfFiles(root, files)
}

/** SHA-256 of names and contents. @param base folder that the names begin at, so that a moved checkout has the same */
export function hashOfFiles(base: string, files: readonly string[]): string {
  const hash = createHash('sha256').update(process.version)
  for (const file of files.toSorted()) {
    const content = readFileSync(file)
    hash.update(`\0${file.slice(base.length)}\0${content.length}\0`).update(content)
  }
  return hash.digest('hex')
}

/**
 * The bundle of this checkout as it is now.
 * @returns its folder @throws Error if the sources cannot be bundled
 */
export async function bundleOfCheckout(): Promise<string> {
  const made = join(folder, hashOfSources())
  if (existsSync(made)) {
    keep(made)
    return made
  }
  const { bundle } = await import('./bundle.ts')
  const making = join(folder, `making-${randomUUID()}`)
  // Its error shows whether this user may write there.
  mkdirSync(making, { recursive: true })
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

/** Marks it as used. In a checkout of another user it stays as old as it is. */
function keep(path: string): void {
  try {
    utimesSync(path, new Date(), new Date())
  } catch (error) {
    if (!isReadOnly(error)) throw error
  }
}

function removeOld(): void {
  const [made, making]: [Found[], Found[]] = [[], []]
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    const list = name.startsWith('making-') ? making : made
    list.push({ path, time: statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0 })
  }
  const tooMany = made.toSorted((a, b) => b.time - a.time).slice(maxKept)
  const leftByKilled = making.filter(({ time }) => time < Date.now() - 3_600_000)
  for (const { path } of [...tooMany, ...leftByKilled]) rmSync(path, { recursive: true, force: true })
}

interface Found {
  readonly path: string
  readonly time: number
}

const isReadOnly = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && ['EACCES', 'EPERM', 'EROFS'].includes(String(error.code))

if (import.meta.main) {
  try {
    process.stdout.write(await bundleOfCheckout())
  } catch (error) {
    if (!isReadOnly(error)) throw error
    process.stderr.write(
      `No bundle can be written to ${folder}: running the sources, which takes more memory. As the owner of the checkout,\n` +
        '`npx node scripts/bundle/checkout.ts` makes one.\n',
    )
  }
}
