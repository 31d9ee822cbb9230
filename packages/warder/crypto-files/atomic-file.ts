import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { type FileHandle, link, open, rename, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { FileRefused } from '../cli/refused.ts'

/** Codes of file systems that have no hard links. */
const withoutLinks: ReadonlySet<unknown> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'])

/**
 * Writes a file whole or not at all: into a file beside it that only its owner can read (mode 0600), which gets the
 * name when everything is on disk, and is removed when something fails.
 * @param options.overwrite false: what has the name already stays, whoever made it meanwhile
 * @param options.signal looked at once more before the name is given
 * @throws FileRefused when the name is taken, or its folder is not there
 */
export async function writeAtomically<R>(
  path: string,
  options: { readonly overwrite: boolean; readonly signal?: AbortSignal | undefined },
  write: (file: FileHandle) => Promise<R>,
): Promise<R> {
  if (!options.overwrite) requireAbsent(path)
  const folder = dirname(path)
  const partial = join(folder, `.${basename(path).slice(0, 200)}.${randomBytes(8).toString('hex')}.partial`)
  const file = await open(partial, 'wx', 0o600).catch((error: unknown) => {
    const { code } = error as { code?: unknown }
    throw code === 'ENOENT'
      ? new FileRefused(`${folder}: there is no such folder`, { cause: error, namesFile: true })
      : withTargetPath(error, path)
  })
  try {
    let result: R
    try {
      result = await write(file)
      await file.sync()
      options.signal?.throwIfAborted()
    } finally {
      await file.close()
    }
    if (options.overwrite) await rename(partial, path)
    else await linkIfAbsent(partial, path)
    await syncFolder(folder)
    return result
  } catch (error) {
    await unlink(partial).catch(() => undefined)
    throw withTargetPath(error, path)
  }
}

/** An error of writing says the name that the file was to get, not the one beside it. */
function withTargetPath(error: unknown, path: string): unknown {
  const { syscall } = error as NodeJS.ErrnoException
  return syscall === undefined || syscall === 'read' ? error : Object.assign(error as Error, { path })
}

/** @throws FileRefused when something has the name */
export function requireAbsent(path: string): void {
  if (existsSync(path)) throw createExistsError(path)
}

/** A link fails where a name is taken, at any moment; a rename would replace it. */
async function linkIfAbsent(partial: string, path: string): Promise<void> {
  try {
    await link(partial, path)
    await unlink(partial)
  } catch (error) {
    const { code } = error as { code?: unknown }
    if (code === 'EEXIST') throw createExistsError(path)
    if (!withoutLinks.has(code)) throw error
    requireAbsent(path)
    await rename(partial, path)
  }
}

async function syncFolder(folder: string): Promise<void> {
  // Windows cannot open folders; there the name is safe with the file.
  if (process.platform === 'win32') return
  await using handle = await open(folder, 'r')
  await handle.sync()
}

function createExistsError(path: string): FileRefused {
  const sentence = `${path} is there already: name another with --output, or say --force to replace it`
  return new FileRefused(sentence, { namesFile: true })
}
