import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { type FileHandle, link, open, rename, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { FileRefused } from '@warder/command-line/files'

/** Error codes of file systems without hard links. */
const withoutLinks: ReadonlySet<unknown> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'])

/**
 * Writes a file atomically: into a temporary file beside it (mode 0600), which is renamed when everything is on disk, and
 * removed on failure.
 * @param options.overwrite false: an existing file stays, even if it was created meanwhile
 * @param options.signal checked once more before the rename
 * @throws FileRefused when the file exists, or its folder does not
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
      ? new FileRefused(`the folder ${folder} does not exist`, { cause: error, namesFile: true })
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

/** Replaces the temporary name in a write error by the name of the file. */
function withTargetPath(error: unknown, path: string): unknown {
  const { syscall } = error as NodeJS.ErrnoException
  return syscall === undefined || syscall === 'read' ? error : Object.assign(error as Error, { path })
}

/** @throws FileRefused when the path exists */
export function requireAbsent(path: string): void {
  if (existsSync(path)) throw createExistsError(path)
}

/** A link fails if the name exists, without a race; a rename would replace it. */
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
  // Windows cannot open folders; there the name is durable with the file.
  if (process.platform === 'win32') return
  await using handle = await open(folder, 'r')
  await handle.sync()
}

function createExistsError(path: string): FileRefused {
  const sentence = `${path} already exists: name another file with --output, or replace it with --force`
  return new FileRefused(sentence, { namesFile: true })
}
