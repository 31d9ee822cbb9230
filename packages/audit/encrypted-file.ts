import {
  beginFileCipher,
  type FileCipher,
  isEncryptedName,
  type LogKey,
  type LogKeys,
  readFileCipher,
} from './encrypted-bytes.ts'
import type { LogFile, OpenLogFile } from './files.ts'

/** Opens log files; their names show whether they are encrypted. @param logKey for new files */
export function createEncryptingOpener(
  open: OpenLogFile,
  keys: LogKeys,
  logKey: LogKey | undefined,
): OpenLogFile {
  return (path) => (isEncryptedName(path) ? openEncryptedFile(path, open(path), keys, logKey) : open(path))
}

/** A group of records becomes one block; sizes are those of the file. */
function openEncryptedFile(path: string, file: LogFile, keys: LogKeys, logKey: LogKey | undefined): LogFile {
  let cipher: FileCipher | undefined
  const beginCipher = (): FileCipher => {
    if (logKey === undefined) throw new Error(`no encryption key is available for ${path}`)
    return beginFileCipher(logKey)
  }
  if (file.size > 0) cipher = readFileCipher(path, keys)
  return {
    get size() {
      return file.size
    },
    append(bytes) {
      if (file.size > 0 && cipher !== undefined) return file.append(cipher.blocks(bytes, file.size))
      // The cut removed the header, too.
      const fresh = beginCipher()
      cipher = fresh
      return file.append(Buffer.concat([fresh.header, fresh.blocks(bytes, fresh.header.length)]))
    },
    sync: () => file.sync(),
    cutTo: (size) => file.cutTo(size),
    changed: () => file.changed(),
    close: () => file.close(),
  }
}
