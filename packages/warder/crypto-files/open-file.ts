import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { FileRefused } from '../cli/refused.ts'

/**
 * Opens a file to read it.
 * @throws FileRefused for a folder, a device or a pipe: they may never end, or give something else each time
 */
export async function openFile(path: string): Promise<FileHandle> {
  // Without O_NONBLOCK the opening of a pipe waits for a writer, in a thread that no signal ends; Windows has neither.
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  try {
    if (!(await file.stat()).isFile()) throw new FileRefused(`${path} is not a file`)
    return file
  } catch (error) {
    await file.close()
    throw error
  }
}
