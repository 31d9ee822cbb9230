import {
  createPublicKey,
  generateKeyPair,
  generateKeyPairSync,
  type KeyObject,
  X509Certificate,
} from 'node:crypto'
import { mkdirSync, rmSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Clock, describeWriteError, StartupError } from '@warder/base'
import {
  generalName,
  issueCertificate as issueX509,
  nameFromParts,
  type ProfileName,
  profileExtensions,
  readCertificate,
  readCertificateExtensions,
  readKeyIdentifier,
} from '@warder/pki'
import {
  authorityName,
  isFresh,
  lockFile,
  readStoredAuthority,
  type StoredAuthority,
  writePair,
} from './authority-files.ts'

/** Contents of a certificate of the local authority. */
export interface CertificatePlan {
  readonly commonName: string
  readonly purpose: Extract<ProfileName, 'authority' | 'server' | 'client'>
  readonly hostnames: readonly string[]
  readonly addresses: readonly string[]
  readonly notBefore: Date
  readonly notAfter: Date
  /** Kind of the new key; default `ec`. */
  readonly keyType?: 'ec' | 'rsa'
  /** Of an RSA key; default 2048. */
  readonly rsaBits?: number
}

export interface IssuedCertificate {
  readonly certificatePem: string
  readonly keyPem: string
  readonly privateKey: KeyObject
}

export interface Issuer {
  readonly certificatePem: string
  readonly privateKey: KeyObject
}

const generateRsa = promisify(generateKeyPair)

/**
 * SP 800-57 part 1 §5.6.3 permits 2048 bits until 2030; a certificate of the local authority is valid for 397
 * days.
 */
const rsaBits = 2048

/**
 * Issues an X.509 v3 certificate (RFC 5280) for a new P-256 or RSA key, signed with ECDSA and SHA-256; by itself when
 * there is no issuer.
 */
export async function issueCertificate(
  plan: CertificatePlan,
  issuer: Issuer | undefined,
): Promise<IssuedCertificate> {
  const { privateKey, publicKey } =
    plan.keyType === 'rsa'
      ? await generateRsa('rsa', { modulusLength: plan.rsaBits ?? rsaBits })
      : generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const spki = publicKey.export({ format: 'der', type: 'spki' })
  const subject = nameFromParts([['CN', plan.commonName]])
  const wanted = {
    subject,
    spki,
    notBefore: plan.notBefore.getTime(),
    notAfter: plan.notAfter.getTime(),
    extensions: profileExtensions(plan.purpose, {
      spki,
      names: encodeNames(plan),
      ...(plan.purpose === 'authority' && { pathLength: 0 }),
    }),
  }
  const signer =
    issuer === undefined
      ? { name: subject, key: privateKey, spki, keyIdentifier: undefined }
      : toSigner(issuer)
  const der = await issueX509(wanted, signer)
  return {
    certificatePem: new X509Certificate(der).toString(),
    keyPem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    privateKey,
  }
}

function encodeNames({ hostnames, addresses }: CertificatePlan): readonly Uint8Array[] {
  return [
    ...hostnames.map((name) => generalName(`DNS:${name}`)),
    ...addresses.map((address) => generalName(`IP:${address}`)),
  ]
}

function toSigner({ certificatePem, privateKey }: Issuer) {
  const der = new X509Certificate(certificatePem).raw
  return {
    name: readCertificate(der).subject,
    key: privateKey,
    spki: createPublicKey(privateKey).export({ format: 'der', type: 'spki' }),
    keyIdentifier: readKeyIdentifier(readCertificateExtensions(der)),
  }
}

export interface LocalAuthorityOptions {
  /** `$WARDER_HOME/tls` */
  readonly folder: string
  readonly clock: Clock
  readonly certificates: readonly LocalCertificate[]
  /** Names and addresses of this machine for the server certificates. */
  readonly hostnames?: readonly string[]
  readonly addresses?: readonly string[]
}

const day = 24 * 60 * 60 * 1000
const authorityDays = 3650
const leafDays = 397
/** Clocks of clients may be late, and that of this machine ahead. */
const backdateMs = day
/**
 * Authorities begin here: one that is made while the clock is ahead is valid when the clock is right again. It cannot be
 * made anew as leaves can, since clients trust it.
 */
const authorityBegin = Date.UTC(2020, 0, 1)

/** A certificate that the local authority issues. */
export interface LocalCertificate {
  /** Of its files: `NAME.crt`, `NAME.key`. */
  readonly name: string
  readonly commonName: string
  /** Default: a server of this machine. */
  readonly purpose?: 'client'
  /** Default: an elliptic curve. */
  readonly keyType?: 'rsa'
  /** true: it is omitted if the key of the authority is stored elsewhere. */
  readonly optional?: boolean
}

/**
 * The local certificate authority of the first run, for a machine that has no other: `ca.crt`, `ca.key`, and the
 * requested certificates. Existing ones are kept; a certificate that expires soon, is not valid yet by this clock, or does not
 * belong together, is replaced.
 * Two processes that start at once do it one after the other.
 * @throws StartupError when a file is broken, cannot be written, or was not made by the local authority
 */
export async function ensureLocalAuthority(options: LocalAuthorityOptions): Promise<void> {
  try {
    mkdirSync(options.folder, { recursive: true, mode: 0o700 })
    const leaves = planLeaves(options)
    if (isComplete(options, leaves)) return
    const unlock = await lockFile(join(options.folder, '.lock'), options.clock)
    try {
      await completeAuthority(options, leaves)
    } finally {
      unlock()
    }
  } catch (error) {
    if (!(error instanceof Error) || !('syscall' in error)) throw error
    throw new StartupError(
      `the certificates in ${options.folder} cannot be created: ${describeWriteError(error, join(options.folder, 'ca.crt'))}`,
      {
        cause: error,
      },
    )
  }
}

/**
 * Checks the state that `ensureLocalAuthority` would find, and changes nothing.
 * @returns whether it would change nothing
 * @throws StartupError as it would, for files that it cannot use
 */
export function isLocalAuthorityComplete(options: LocalAuthorityOptions): boolean {
  const { folder, clock } = options
  const authority = readStoredAuthority(folder, clock)
  if (authority === undefined) return false
  const due = planLeaves(options).filter(
    (leaf) => !isLeftOut(leaf, authority) && !isFresh(folder, leaf.name, authority, clock),
  )
  if (due.length > 0) requireIssuer(authority, folder)
  return due.length === 0
}

interface Leaf {
  readonly name: string
  readonly plan: CertificatePlan
  readonly optional: boolean
}

/** A check without the lock. An unreadable file may be incomplete: it is read again under the lock. */
function isComplete({ folder, clock }: LocalAuthorityOptions, leaves: readonly Leaf[]): boolean {
  try {
    const authority = readStoredAuthority(folder, clock)
    return (
      authority !== undefined &&
      leaves.every((leaf) => isLeftOut(leaf, authority) || isFresh(folder, leaf.name, authority, clock))
    )
  } catch {
    return false
  }
}

function isLeftOut({ optional }: Leaf, { privateKey }: StoredAuthority): boolean {
  return optional && privateKey === undefined
}

async function completeAuthority(options: LocalAuthorityOptions, leaves: readonly Leaf[]): Promise<void> {
  const { folder, clock } = options
  const authority = readStoredAuthority(folder, clock) ?? (await makeAuthority(options))
  for (const leaf of leaves) {
    const { name, plan } = leaf
    if (isLeftOut(leaf, authority) || isFresh(folder, name, authority, clock)) continue
    const issued = await issueCertificate(plan, requireIssuer(authority, folder))
    writePair(folder, name, issued.certificatePem, issued.keyPem)
  }
}

function planLeaves({ clock, certificates, hostnames, addresses }: LocalAuthorityOptions): readonly Leaf[] {
  const now = clock.now()
  const times = { notBefore: new Date(now - backdateMs), notAfter: new Date(now + leafDays * day) }
  const server = {
    purpose: 'server',
    hostnames:
      hostnames ??
      [...new Set(['localhost', hostname()])].filter((name) => /^[A-Za-z0-9.-]{1,253}$/.test(name)),
    addresses: addresses ?? ['127.0.0.1', '::1'],
    ...times,
  } as const
  const client = { purpose: 'client', hostnames: [], addresses: [], ...times } as const
  return certificates.map(({ name, commonName, purpose, keyType, optional = false }) => {
    const place = purpose === 'client' ? client : server
    return { name, plan: { commonName, ...(keyType && { keyType }), ...place }, optional }
  })
}

async function makeAuthority({ folder, clock }: LocalAuthorityOptions): Promise<StoredAuthority> {
  const now = clock.now()
  const { certificatePem, keyPem, privateKey } = await issueCertificate(
    {
      commonName: `${authorityName}${hostname()}`.slice(0, 64),
      purpose: 'authority',
      hostnames: [],
      addresses: [],
      notBefore: new Date(Math.min(now - backdateMs, authorityBegin)),
      notAfter: new Date(now + authorityDays * day),
    },
    undefined,
  )
  writePair(folder, 'ca', certificatePem, keyPem)
  // Of the authority before this one.
  rmSync(join(folder, 'ca.crl'), { force: true })
  return { certificate: new X509Certificate(certificatePem), certificatePem, privateKey }
}

/** @throws StartupError when the authority cannot sign here */
function requireIssuer({ certificatePem, privateKey }: StoredAuthority, folder: string): Issuer {
  const [certificate, key] = [join(folder, 'ca.crt'), join(folder, 'ca.key')]
  if (privateKey === undefined) {
    throw new StartupError(
      `${key} is missing, but is needed to issue a certificate; restore it, or remove ${certificate} and start again ` +
        'to create a new authority',
    )
  }
  if (privateKey.asymmetricKeyDetails?.namedCurve !== 'prime256v1') {
    throw new StartupError(`${key} is not a P-256 key: the local authority supports only P-256`)
  }
  return { certificatePem, privateKey }
}
