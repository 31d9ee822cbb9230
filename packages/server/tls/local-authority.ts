import { X509Certificate } from 'node:crypto'
import { mkdirSync, rmSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { type Clock, describeWriteError, StartupError } from '@warder/base'
import {
  authorityName,
  isFresh,
  readStoredAuthority,
  type StoredAuthority,
  writePair,
} from './authority-files.ts'
import { lockFile } from './authority-lock.ts'
import { type CertificatePlan, type Issuer, issueCertificate } from './issue.ts'

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
  /** true: it is left out where the key of the authority is kept elsewhere. */
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
 * Looks at what `ensureLocalAuthority` would find, and changes nothing.
 * @returns whether it would keep everything as it is
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

/** A look without the lock. What it cannot read may be half written: that is judged again under the lock. */
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
