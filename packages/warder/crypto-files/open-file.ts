import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { FileRefused } from '@warder/command-line/files'

/**
 * Opens a file to read it.
 * @throws FileRefused for a folder, a device or a pipe, which may never end or change between reads
 */
export function openFile(path: string): Promise<FileHandle> {
  return openRegularFile(path, constants.O_RDONLY)
}

/**
 * Opens a file to change it in place.
 * @throws FileRefused like `openFile`, and for a symbolic link, because the named file itself must change
 */
export async function openToChange(path: string): Promise<FileHandle> {
  try {
    return await openRegularFile(path, constants.O_RDWR | (constants.O_NOFOLLOW ?? 0))
  } catch (error) {
    // ELOOP in POSIX; EMLINK or EFTYPE on some systems.
    const { code = '' } = error as NodeJS.ErrnoException
    if (!['ELOOP', 'EMLINK', 'EFTYPE'].includes(code)) throw error
    throw new FileRefused(`${path} is a symbolic link: name the file itself`, { cause: error })
  }
}

async function openRegularFile(path: string, flags: number): Promise<FileHandle> {
  // Without O_NONBLOCK, opening a pipe waits for a writer in a thread that no signal ends. Windows has neither flag.
  const file = await open(path, flags | (constants.O_NONBLOCK ?? 0))
  try {
    if (!(await file.stat()).isFile()) throw new FileRefused(`${path} is not a file`)
    return file
  } catch (error) {
    await file.close()
    throw error
  }
}
