import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Clock, StartupError } from '@warder/base'
import {
  type CrlEntry,
  issueCrl,
  type RevocationReason,
  readCertificate,
  readCertificateExtensions,
  readCrl,
  readKeyIdentifier,
} from '@warder/pki'
import { lockFile, writeWhole } from './authority-files.ts'
import { readPeerCommonName } from './peer.ts'

/** A certificate that the local authority of a folder issued to a client. */
export interface ClientCertificate {
  readonly name: string
  /** Hexadecimal. */
  readonly serial: string
  readonly validTo: Date
  readonly pem: string
}

/** Clocks of those who read the CRL may be late. */
const backdateMs = 60 * 60 * 1000

/** Keeps a certificate that was issued, so that it can be revoked by name. Call it before the certificate is handed out. */
export function recordClientCertificate(folder: string, certificatePem: string): void {
  const clients = join(folder, 'clients')
  mkdirSync(clients, { recursive: true, mode: 0o700 })
  writeWhole(join(clients, `${new X509Certificate(certificatePem).serialNumber}.crt`), certificatePem)
}

/** Those that were recorded, and the one of the first run. @throws StartupError for a file that is no certificate */
export function listClientCertificates(folder: string): readonly ClientCertificate[] {
  const clients = join(folder, 'clients')
  const recorded = existsSync(clients)
    ? readdirSync(clients)
        .filter((name) => name.endsWith('.crt'))
        .map((name) => join(clients, name))
    : []
  const first = join(folder, 'client.crt')
  return [...recorded, ...(existsSync(first) ? [first] : [])].map(readClientCertificate)
}

/** The entries of `ca.crl`; none if there is no such file. */
export function listLocalRevocations(folder: string): readonly CrlEntry[] {
  return readEntries(join(folder, 'ca.crl')).entries
}

/** Finds which of these certificates are on `ca.crl`, by their serial numbers. */
export function findClientRevocations(
  folder: string,
  certificates: readonly ClientCertificate[],
): ReadonlyMap<string, CrlEntry> {
  const toHex = (serial: Uint8Array): string => Buffer.from(serial).toString('hex')
  const listed = new Map(listLocalRevocations(folder).map((entry) => [toHex(entry.serial), entry]))
  return new Map(
    certificates.flatMap(({ serial, pem }) => {
      const entry = listed.get(toHex(readSerial(pem)))
      return entry === undefined ? [] : [[serial, entry] as const]
    }),
  )
}

/** @throws StartupError */
export function readClientCertificate(file: string): ClientCertificate {
  try {
    const pem = readFileSync(file, 'utf8')
    const certificate = new X509Certificate(pem)
    const { serialNumber: serial, validToDate: validTo } = certificate
    return { name: readPeerCommonName(certificate) ?? '', serial, validTo, pem }
  } catch (error) {
    throw new StartupError(
      `${file} cannot be read as a certificate: ${error instanceof Error ? error.message : error}`,
    )
  }
}

/**
 * Puts certificates on `ca.crl`, the CRL of the local authority, which is valid until the authority ends. Services of
 * this home read it when it changes.
 * @returns those that were not on it before
 * @throws StartupError when the authority did not issue one of them, or its key is not here
 */
export async function revokeClientCertificates(
  folder: string,
  certificates: readonly ClientCertificate[],
  reason: RevocationReason,
  clock: Clock,
): Promise<readonly ClientCertificate[]> {
  const unlock = await lockFile(join(folder, '.lock'), clock)
  try {
    const { authority, issuer } = openAuthority(folder)
    for (const { pem, name } of certificates) {
      const certificate = new X509Certificate(pem)
      if (!certificate.checkIssued(authority) || !certificate.verify(authority.publicKey))
        throw new StartupError(`the certificate of ${name} was not issued by ${join(folder, 'ca.crt')}`)
    }
    const before = readEntries(join(folder, 'ca.crl'))
    const listed = findClientRevocations(folder, certificates)
    const isNew = ({ serial }: ClientCertificate) => !listed.has(serial)
    const added = [...new Map(certificates.filter(isNew).map((each) => [each.serial, each])).values()]
    if (added.length === 0) return added
    const now = clock.now()
    const entries = added.map(({ pem }): CrlEntry => ({ serial: readSerial(pem), revokedAt: now, reason }))
    const der = await issueCrl(
      {
        number: before.number + 1n,
        thisUpdate: now - backdateMs,
        nextUpdate: authority.validToDate.getTime(),
        entries: [...before.entries, ...entries],
      },
      issuer,
    )
    writeWhole(join(folder, 'ca.crl'), toPem(der))
    return added
  } finally {
    unlock()
  }
}

function openAuthority(folder: string) {
  const [file, keyFile] = [join(folder, 'ca.crt'), join(folder, 'ca.key')]
  for (const needed of [file, keyFile])
    if (!existsSync(needed))
      throw new StartupError(
        `${needed} does not exist: without a local authority, revoke the certificate at its own authority`,
      )
  const authority = new X509Certificate(readFileSync(file))
  const key = createPrivateKey(readFileSync(keyFile))
  const issuer = {
    name: readCertificate(authority.raw).subject,
    key,
    spki: createPublicKey(key).export({ format: 'der', type: 'spki' }),
    keyIdentifier: readKeyIdentifier(readCertificateExtensions(authority.raw)),
  }
  return { authority, issuer }
}

function readEntries(file: string): { readonly number: bigint; readonly entries: readonly CrlEntry[] } {
  if (!existsSync(file)) return { number: 0n, entries: [] }
  const body = readFileSync(file, 'latin1').replace(/-----(BEGIN|END) X509 CRL-----|\s/g, '')
  const crl = readCrl(Buffer.from(body, 'base64'))
  return { number: crl.number ?? 0n, entries: [...crl.entries()] }
}

function readSerial(pem: string): Uint8Array {
  return readCertificate(new X509Certificate(pem).raw).serialNumber
}

function toPem(der: Uint8Array): string {
  const lines = Buffer.from(der)
    .toString('base64')
    .replace(/.{64}(?=.)/g, '$&\n')
  return `-----BEGIN X509 CRL-----\n${lines}\n-----END X509 CRL-----\n`
}
