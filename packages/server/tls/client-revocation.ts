import { createHash, type X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type Clock, StartupError } from '@warder/base'
import {
  type Crl,
  crlIsSignedWith,
  type ParsedCertificate,
  PkiError,
  parseCertificate,
  pemText,
  readCertificate,
  readCrl,
  readKeyUsage,
} from '@warder/pki'

/** Contents of the CRLs of the client authorities, as plain data: workers share the memory of `revoked`. */
export interface RevokedCertificates {
  /** First 64 bits of the digest of each revoked certificate (`digestCertificate`), ascending. */
  readonly revoked: SharedArrayBuffer
  /** Client authorities by the digest of their name: expiry of their CRL, in Unix milliseconds. */
  readonly authorities: readonly { readonly name: string; readonly until: number }[]
  /** true: a certificate of an authority without a CRL in force is refused. */
  readonly strict: boolean
  /** Another one for other CRLs: TLS sessions that began under one do not resume under another. */
  readonly version: string
}

/** A CRL of a client authority whose signature was checked. */
interface AuthorityCrl {
  readonly crl: Crl
  readonly der: Uint8Array
}

/**
 * Names a certificate by issuer and serial number (RFC 5280 §4.1.2.2). 64 bits are enough: a collision refuses a
 * certificate that is good, and never accepts one that was revoked.
 * @param issuer DER of the name
 * @param serial content of the INTEGER
 */
export function digestCertificate(issuer: Uint8Array, serial: Uint8Array): bigint {
  return createHash('sha256').update(issuer).update(serial).digest().readBigUInt64BE(0)
}

/** @param name DER */
function digestAuthority(name: Uint8Array): string {
  return createHash('sha256').update(name).digest('base64url')
}

/**
 * Builds the table. Of several CRLs of one authority all entries count, and the latest expiry.
 * @param always DER of the names of authorities that need no CRL
 */
function buildRevokedCertificates(
  crls: readonly AuthorityCrl[],
  { strict, always = [] }: { readonly strict: boolean; readonly always?: readonly Uint8Array[] },
): RevokedCertificates {
  const count = crls.reduce((sum, { crl }) => sum + crl.count, 0)
  const revoked = new SharedArrayBuffer(count * 8)
  const digests = new BigUint64Array(revoked)
  const until = new Map<string, number>()
  const version = createHash('sha256')
  let index = 0
  for (const { crl, der } of crls) {
    for (const { serial } of crl.entries()) {
      digests[index] = digestCertificate(crl.issuer, serial)
      index += 1
    }
    const name = digestAuthority(crl.issuer)
    until.set(name, Math.max(until.get(name) ?? 0, crl.nextUpdate ?? Number.POSITIVE_INFINITY))
    version.update(der)
  }
  for (const name of always) until.set(digestAuthority(name), Number.POSITIVE_INFINITY)
  digests.sort()
  return {
    revoked,
    authorities: [...until].map(([name, end]) => ({ name, until: end })),
    strict,
    version: version.digest('hex').slice(0, 32),
  }
}

/** Binary search: 17 steps for 100,000 entries. */
function hasDigest(digests: BigUint64Array, digest: bigint): boolean {
  let low = 0
  let high = digests.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((digests[middle] as bigint) < digest) low = middle + 1
    else high = middle
  }
  return digests[low] === digest
}

/** A certificate of a client, or one that its client sent above it. */
interface PresentedCertificate {
  readonly digest: bigint
  readonly issuer: string
}

/** The certificates of one connection, read off once. */
export type PresentedChain = readonly PresentedCertificate[]

/** Certificates that a client may send. */
const maxChainLength = 8

/** Whether client certificates are revoked, in one worker. */
export interface ClientRevocation {
  /** @returns why the client is refused now, for the log; undefined = it is not */
  problem(chain: PresentedChain): string | undefined
  set(next: RevokedCertificates | undefined): void
}

/**
 * The certificate and the chain that the client sent. A resumed session has the first alone: its others were
 * judged by the same CRLs, because a session does not resume under other ones.
 * @param certificate from the socket, with a verified chain
 */
export function listPresentedChain(certificate: X509Certificate): PresentedChain {
  const chain: PresentedCertificate[] = []
  for (
    let next: X509Certificate | undefined = certificate;
    next !== undefined && chain.length < maxChainLength;
    next = next.issuerCertificate
  ) {
    const { issuer, subject, serialNumber } = readCertificate(next.raw)
    // A trust anchor is not checked against its own CRL: the settings name it.
    if (chain.length > 0 && Buffer.compare(issuer, subject) === 0) break
    chain.push({ digest: digestCertificate(issuer, serialNumber), issuer: digestAuthority(issuer) })
  }
  return chain
}

export function createClientRevocation(
  clock: Clock,
  first: RevokedCertificates | undefined,
): ClientRevocation {
  let digests: BigUint64Array<ArrayBufferLike> = new BigUint64Array(0)
  let until: ReadonlyMap<string, number> = new Map()
  let strict = false
  const set = (next: RevokedCertificates | undefined): void => {
    digests = new BigUint64Array(next?.revoked ?? new ArrayBuffer(0))
    until = new Map(next?.authorities.map((authority) => [authority.name, authority.until]))
    strict = next?.strict ?? false
  }
  set(first)
  return {
    set,
    problem(chain) {
      if (chain.some(({ digest }) => hasDigest(digests, digest))) return 'the client certificate was revoked'
      if (!strict) return undefined
      const now = clock.now()
      return chain.some(({ issuer }) => (until.get(issuer) ?? 0) < now)
        ? 'no CRL in force covers the client certificate'
        : undefined
    },
  }
}

interface ClientCrlFiles {
  /** PEM: the client authorities (`clients_ca_cert_file`). */
  readonly authoritiesFile: string
  /** PEM or DER, one or several CRLs in each. */
  readonly files: readonly string[]
  readonly strict: boolean
  /** true: these authorities issue without a CRL, even if `strict` is on. */
  readonly crlsOptional: boolean
}

/** The CRLs that were read, with those that have expired. */
export interface ReadClientCrls {
  readonly revoked: RevokedCertificates
  /** For people: which CRLs end when, in Unix milliseconds. */
  readonly ends: readonly { readonly file: string; readonly until: number | undefined }[]
}

const setting = 'clients_crl_files'
/** Of one file: 100,000 entries take 4 MB. */
const maxBytes = 256 * 1024 * 1024

/**
 * Reads the CRLs of the client authorities and checks their signatures. That one has expired is no error.
 * @throws StartupError that names the file and the error
 */
export function readClientCrls({
  authoritiesFile,
  files,
  strict,
  crlsOptional,
}: ClientCrlFiles): ReadClientCrls {
  const authorities = readPemBlocks(
    Buffer.from(pemText(readFile(authoritiesFile), 'CERTIFICATE')),
    'CERTIFICATE',
  ).map((der) => withFileName(authoritiesFile, () => parseCertificate(der)))
  const read = files.flatMap((file) => readCrls(file, authorities).map((each) => ({ file, ...each })))
  return {
    revoked: buildRevokedCertificates(read, {
      strict,
      always: crlsOptional ? authorities.map(({ subject }) => subject) : [],
    }),
    ends: read.map(({ file, crl }) => ({ file, until: crl.nextUpdate })),
  }
}

function readCrls(file: string, authorities: readonly ParsedCertificate[]): readonly AuthorityCrl[] {
  const bytes = readFile(file)
  const ders = bytes[0] === 0x30 ? [bytes] : readPemBlocks(bytes, 'X509 CRL')
  if (ders.length === 0) throw new StartupError(`${setting}: ${file} contains no CRL in PEM or DER`)
  return ders.map((der) => {
    const crl = withFileName(file, () => readCrl(der))
    const problem = findCrlProblem(crl, authorities)
    if (problem !== undefined) throw new StartupError(`${setting}: ${file} ${problem}`)
    return { crl, der }
  })
}

function findCrlProblem(crl: Crl, authorities: readonly ParsedCertificate[]): string | undefined {
  if (crl.baseNumber !== undefined) return 'is a delta CRL: use the complete CRL'
  if (crl.scope?.indirect === true) return 'is an indirect CRL, which is not supported'
  if (crl.unknownCritical) return 'has a critical extension that is not understood'
  const issuers = authorities.filter(({ subject }) => Buffer.compare(subject, crl.issuer) === 0)
  if (issuers.length === 0) return 'is from an authority that is not in clients_ca_cert_file'
  const signer = issuers.find(({ key }) => crlIsSignedWith(crl, key))
  if (signer === undefined) return 'is not signed by its authority in clients_ca_cert_file'
  const uses = readKeyUsage(signer.extensions)
  return uses !== undefined && !uses.includes('cRLSign')
    ? 'is signed by a key that may not sign CRLs'
    : undefined
}

function readFile(file: string): Buffer {
  let bytes: Buffer
  try {
    bytes = readFileSync(file)
  } catch (error) {
    throw new StartupError(
      `${setting}: cannot read ${file}: ${error instanceof Error ? error.message : error}`,
    )
  }
  if (bytes.length > maxBytes) throw new StartupError(`${setting}: ${file} is larger than ${maxBytes} bytes`)
  return bytes
}

function withFileName<T>(file: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof PkiError) throw new StartupError(`${setting}: ${file}: ${error.message}`)
    throw error
  }
}

/** DER of each PEM block of this kind (RFC 7468). */
function readPemBlocks(bytes: Buffer, label: string): readonly Buffer[] {
  const block = new RegExp(`-----BEGIN ${label}-----([A-Za-z0-9+/=\\s]+)-----END ${label}-----`, 'g')
  return [...bytes.toString('latin1').matchAll(block)].map(([, body = '']) => Buffer.from(body, 'base64'))
}
