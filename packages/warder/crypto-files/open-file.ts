import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { FileRefused } from '../cli/refused.ts'

/**
 * Opens a file to read it.
 * @throws FileRefused for a folder, a device or a pipe: they may never end, or give something else each time
 */
export function openFile(path: string): Promise<FileHandle> {
  return openRegularFile(path, constants.O_RDONLY)
}

/**
 * Opens a file to change it in its place.
 * @throws FileRefused as `openFile`, and for a symbolic link: the name that is said is the file that changes
 */
export async function openToChange(path: string): Promise<FileHandle> {
  try {
    return await openRegularFile(path, constants.O_RDWR | (constants.O_NOFOLLOW ?? 0))
  } catch (error) {
    // POSIX says ELOOP; some systems say EMLINK or EFTYPE.
    const { code = '' } = error as NodeJS.ErrnoException
    if (!['ELOOP', 'EMLINK', 'EFTYPE'].includes(code)) throw error
    throw new FileRefused(`${path} is a symbolic link: name the file itself`, { cause: error })
  }
}

async function openRegularFile(path: string, flags: number): Promise<FileHandle> {
  // Without O_NONBLOCK the opening of a pipe waits for a writer, in a thread that no signal ends; Windows has neither.
  const file = await open(path, flags | (constants.O_NONBLOCK ?? 0))
  try {
    if (!(await file.stat()).isFile()) throw new FileRefused(`${path} is not a file`)
    return file
  } catch (error) {
    await file.close()
    throw error
  }
}
