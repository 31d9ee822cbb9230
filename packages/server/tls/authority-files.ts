import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type Clock, StartupError } from '@warder/base'

/** How the names of all local authorities begin. */
export const authorityName = 'Warder local authority of '
const day = 24 * 60 * 60 * 1000
/** An authority with less than this left is replaced. Not earlier, since clients must be given the new certificate. */
const renewAuthorityBeforeDays = 30

/** The authority as stored in its files. */
export interface StoredAuthority {
  readonly certificate: X509Certificate
  readonly certificatePem: string
  /** undefined when it is kept elsewhere: then nothing can be issued. */
  readonly privateKey: KeyObject | undefined
}

/**
 * @returns undefined when there is none, or when it expires soon and must be replaced
 * @throws StartupError for an existing file that cannot be used and must not be overwritten either
 */
export function readStoredAuthority(folder: string, clock: Clock): StoredAuthority | undefined {
  const [file, keyFile] = getPairFiles(folder, 'ca')
  const certificate = readCertificate(file)
  if (certificate === undefined) return undefined
  const privateKey = readKey(keyFile, file)
  if (!certificate.ca)
    throw new StartupError(`${file} is not the certificate of an authority; ${formatRemedy(file)}`)
  if (privateKey !== undefined && !certificate.checkPrivateKey(privateKey)) {
    throw new StartupError(
      `${keyFile} is not the key of ${file}; replace it with the right one, or ${formatRemedy(file)}`,
    )
  }
  if (getRemainingMs(certificate, clock) > renewAuthorityBeforeDays * day)
    return { certificate, certificatePem: readFileSync(file, 'utf8'), privateKey }
  if (certificate.subject.startsWith(`CN=${authorityName}`)) return undefined
  throw new StartupError(
    `${file} expires on ${certificate.validTo}; replace it with a new one, or ${formatRemedy(file)}`,
  )
}

/**
 * Whether the pair is there, belongs together, was issued by the authority, is valid now and does not run out
 * soon. One that begins later was issued while a clock was ahead.
 * @throws StartupError for an existing certificate that is damaged or was not issued by a local authority: it
 *   is not overwritten
 */
export function isFresh(folder: string, name: string, authority: StoredAuthority, clock: Clock): boolean {
  const [file, keyFile] = getPairFiles(folder, name)
  const certificate = readCertificate(file)
  if (certificate === undefined) return false
  const issuer = authority.certificate
  const issued = certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)
  if (!issued && !certificate.issuer.startsWith(`CN=${authorityName}`)) {
    throw new StartupError(
      `${file} was not issued by ${join(folder, 'ca.crt')}; configure your own certificate with tls_cert_file ` +
        `and tls_key_file, and ${formatRemedy(file)}`,
    )
  }
  const key = readKey(keyFile, file)
  const isValid = certificate.validFromDate.getTime() <= clock.now() && !runsOut(certificate, clock)
  return issued && key !== undefined && certificate.checkPrivateKey(key) && isValid
}

/**
 * The key first, so that there is never a certificate without its key. Nothing is replaced before both are on
 * disk, so that a full one leaves the pair before.
 */
export function writePair(folder: string, name: string, certificatePem: string, keyPem: string): void {
  const [file, keyFile] = getPairFiles(folder, name)
  stage(keyFile, keyPem)
  stage(file, certificatePem)
  rmSync(file, { force: true })
  renameSync(`${keyFile}.new`, keyFile)
  renameSync(`${file}.new`, file)
}

function getPairFiles(folder: string, name: string): readonly [certificate: string, key: string] {
  return [join(folder, `${name}.crt`), join(folder, `${name}.key`)]
}

/** A third of its life is left. */
function runsOut(certificate: X509Certificate, clock: Clock): boolean {
  const life = certificate.validToDate.getTime() - certificate.validFromDate.getTime()
  return getRemainingMs(certificate, clock) <= life / 3
}

function getRemainingMs(certificate: X509Certificate, clock: Clock): number {
  return certificate.validToDate.getTime() - clock.now()
}

function formatRemedy(file: string): string {
  return `remove ${file} and start again to create a new one`
}

function readCertificate(file: string): X509Certificate | undefined {
  if (!existsSync(file)) return undefined
  try {
    return new X509Certificate(readFileSync(file))
  } catch (error) {
    throw new StartupError(
      `${file} cannot be read as a certificate (${getErrorMessage(error)}); ${formatRemedy(file)}`,
    )
  }
}

function readKey(file: string, certificate: string): KeyObject | undefined {
  if (!existsSync(file)) return undefined
  try {
    return createPrivateKey(readFileSync(file))
  } catch (error) {
    throw new StartupError(
      `${file} cannot be read as a private key (${getErrorMessage(error)}); ${formatRemedy(certificate)}`,
    )
  }
}

function getErrorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

export function writeWhole(path: string, text: string): void {
  stage(path, text)
  renameSync(`${path}.new`, path)
}

/** Writes `PATH.new`, which only its owner reads. */
function stage(path: string, text: string): void {
  const mode = 0o600
  const file = openSync(`${path}.new`, 'w', mode)
  try {
    writeFileSync(file, text)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  chmodSync(`${path}.new`, mode)
}

/** Longer than issuing takes: a lock of this age was left by a killed process. */
const staleMs = 30_000
const maxWaitMs = 60_000
const retryMs = 20

/**
 * Acquires a lock file, and waits for the process that has it. A stale lock is removed.
 * @returns a function that releases the lock
 * @throws StartupError when it is not released within a minute
 */
export async function lockFile(path: string, clock: Clock): Promise<() => void> {
  const deadline = clock.monotonic() + maxWaitMs
  for (;;) {
    const mine = create(path)
    if (mine !== undefined) return () => removeIf(path, mine)
    const found = statFile(path)
    if (found !== undefined && clock.now() - found.mtimeMs > staleMs) removeIf(path, found)
    else if (clock.monotonic() >= deadline) {
      throw new StartupError(
        `${path} is locked by another process that is starting; if there is none, remove it and start again`,
      )
    } else await pause(retryMs)
  }
}

function create(path: string): Stats | undefined {
  try {
    const file = openSync(path, 'wx', 0o600)
    try {
      return fstatSync(file)
    } finally {
      closeSync(file)
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return undefined
    throw error
  }
}

/** Removes only the lock that was read; a lock that another process created meanwhile is restored. */
function removeIf(path: string, expected: Stats): void {
  const found = statFile(path)
  if (found === undefined || !isSame(found, expected)) return
  const aside = `${path}.${process.pid}`
  try {
    renameSync(path, aside)
    if (!isSame(statSync(aside), expected)) linkSync(aside, path)
  } catch {
    // Another process removed it first, or made its own in its place.
  }
  rmSync(aside, { force: true })
}

function statFile(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false })
}

function isSame(one: Stats, other: Stats): boolean {
  return one.ino === other.ino && one.mtimeMs === other.mtimeMs
}
