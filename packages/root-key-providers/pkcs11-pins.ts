import { createHash, randomUUID } from 'node:crypto'
import { accessSync, constants, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { StartupError, takeLock } from '@warder/base'
import { type Token, TokenError } from '@warder/pkcs11'
import { RootKeyUnavailable } from '@warder/storage'

const [turnAttempts, turnPauseMs] = [100, 100]
const maxRecordBytes = 4096

/** Waits while another process tries a PIN. @throws RootKeyUnavailable after 10 seconds */
export async function takeTurn(lock: string, formatHeld: (pid: string) => string): Promise<() => void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return takeLock(lock, formatHeld)
    } catch (error) {
      if (!(error instanceof StartupError)) throw error
      if (attempt >= turnAttempts) throw new RootKeyUnavailable(error.message, { cause: error })
      await wait(turnPauseMs)
    }
  }
}

interface Login {
  /** The token, which has a record of its own. */
  readonly description: string
  readonly pinFile: string
  /** Records are this path with a suffix for each token. */
  readonly recordPath: string
  open(): Promise<Token>
}

/**
 * Opens a token, but not with a PIN that it has refused before: tokens lock themselves after a few, and a supervisor starts
 * a service again and again. A PIN that was never tried is tried by one process at a time. The record identifies the PIN
 * file, and contains nothing of the PIN.
 * @throws StartupError for a PIN that was refused; else as `open`
 */
export async function openOnce({ description, pinFile, recordPath, open }: Login): Promise<Token> {
  const stamp = readStamp(pinFile)
  if (stamp === undefined || !isWritable(dirname(recordPath))) return open()
  const path = `${recordPath}.${createHash('sha256').update(description).digest('hex').slice(0, 16)}`
  const attempt = async (): Promise<Token> => {
    const record = readRecord(path, stamp)
    if (record?.refusal !== undefined) throw new StartupError(record.refusal)
    try {
      const token = await open()
      if (record === undefined) writeRecord(path, { stamp })
      return token
    } catch (error) {
      const isRefused = error instanceof TokenError && error.code === 'login_refused'
      // An error without a return value means that the PIN was not tried.
      if (isRefused && error.returnValue !== undefined) writeRecord(path, { stamp, refusal: error.message })
      throw error
    }
  }
  if (readRecord(path, stamp) !== undefined) return attempt()
  const release = await takeTurn(`${path}.lock`, (pid) => `process ${pid} logs in to ${description}`)
  try {
    return await attempt()
  } finally {
    release()
  }
}

interface PinRecord {
  readonly stamp: string
  /** The reason for which the token refused the PIN; undefined: the PIN was accepted. */
  readonly refusal?: string
}

/** @returns undefined when the file cannot be read, which the login reports */
function readStamp(pinFile: string): string | undefined {
  const stat = statSync(pinFile, { bigint: true, throwIfNoEntry: false })
  if (stat === undefined) return undefined
  return [stat.dev, stat.ino, stat.size, stat.mtimeNs, stat.ctimeNs].join(':')
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** @returns undefined when the PIN file was never tried, or has changed */
function readRecord(path: string, stamp: string): PinRecord | undefined {
  try {
    const text = readFileSync(path, 'utf8')
    const record: Partial<PinRecord> = text.length > maxRecordBytes ? {} : JSON.parse(text)
    if (record.stamp !== stamp) return undefined
    return typeof record.refusal === 'string' ? { stamp, refusal: record.refusal } : { stamp }
  } catch {
    // If the file is absent or belongs to another user, the token decides.
    return undefined
  }
}

/** Without a record, the next process tries the PIN again. */
function writeRecord(path: string, record: PinRecord): void {
  const made = `${path}.${randomUUID()}`
  try {
    writeFileSync(made, JSON.stringify(record), { mode: 0o644, flag: 'wx' })
    renameSync(made, path)
  } catch {
    // A full disk must not end a start whose PIN was accepted.
    rmSync(made, { force: true })
  }
}
