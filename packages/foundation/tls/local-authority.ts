import { createPrivateKey, X509Certificate } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { StartupError } from '../errors/index.ts'
import type { Clock } from '../runtime/clock.ts'
import { type CertificatePlan, type Issuer, issueCertificate } from './issue.ts'

export interface LocalAuthorityOptions {
  /** `$WARDER_HOME/tls` */
  readonly folder: string
  readonly clock: Clock
  /** Names and addresses of this machine for the server certificates. */
  readonly hostnames?: readonly string[]
  readonly addresses?: readonly string[]
}

const day = 24 * 60 * 60 * 1000
const authorityDays = 3650
const leafDays = 397
/** A certificate with less than this left is replaced at the next start. */
const renewBeforeDays = 30
/** Clocks of clients may be late. */
const backdateMs = 60 * 60 * 1000

/**
 * The local certificate authority of the first run, for a machine that has no other: `ca.crt`, `ca.key`, server
 * certificates `auth` and `kms`, and a client certificate `client` (CN `kmip-client`). What exists is kept; what
 * runs out soon is replaced. Two processes that start at once do it one after the other.
 */
export async function ensureLocalAuthority(options: LocalAuthorityOptions): Promise<void> {
  mkdirSync(options.folder, { recursive: true, mode: 0o700 })
  const leaves = leafPlans(options)
  if (isFresh(options, 'ca') && leaves.every(({ name }) => isFresh(options, name))) return
  const unlock = await lock(join(options.folder, '.lock'))
  try {
    const authority = await ensureAuthority(options)
    for (const { name, plan } of leaves) {
      if (isFresh(options, name)) continue
      const issued = await issueCertificate(plan, authority)
      writePair(options.folder, name, issued.certificatePem, issued.keyPem)
    }
  } finally {
    unlock()
  }
}

function leafPlans({
  clock,
  hostnames,
  addresses,
}: LocalAuthorityOptions): readonly { name: string; plan: CertificatePlan }[] {
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
  return [
    { name: 'auth', plan: { commonName: 'Warder auth', ...server } },
    { name: 'kms', plan: { commonName: 'Warder kms', ...server } },
    {
      name: 'client',
      plan: { commonName: 'kmip-client', purpose: 'client', hostnames: [], addresses: [], ...times },
    },
  ]
}

async function ensureAuthority(options: LocalAuthorityOptions): Promise<Issuer> {
  const [certificate, key] = [join(options.folder, 'ca.crt'), join(options.folder, 'ca.key')]
  if (!isFresh(options, 'ca')) {
    const now = options.clock.now()
    const issued = await issueCertificate(
      {
        commonName: `Warder local authority of ${hostname()}`.slice(0, 64),
        purpose: 'authority',
        hostnames: [],
        addresses: [],
        notBefore: new Date(now - backdateMs),
        notAfter: new Date(now + authorityDays * day),
      },
      undefined,
    )
    writePair(options.folder, 'ca', issued.certificatePem, issued.keyPem)
    // What the old authority signed is worth nothing now.
    for (const name of ['auth', 'kms', 'client']) rmSync(join(options.folder, `${name}.crt`), { force: true })
  }
  return {
    certificatePem: readFileSync(certificate, 'utf8'),
    privateKey: createPrivateKey(readFileSync(key)),
  }
}

/** Whether the pair is there and not about to run out. A pair that is there but broken stops the start. */
function isFresh({ folder, clock }: LocalAuthorityOptions, name: string): boolean {
  const [certificate, key] = [join(folder, `${name}.crt`), join(folder, `${name}.key`)]
  if (!existsSync(certificate) || !existsSync(key)) return false
  try {
    const parsed = new X509Certificate(readFileSync(certificate))
    return parsed.validToDate.getTime() - clock.now() > renewBeforeDays * day
  } catch (error) {
    throw new StartupError(
      `${certificate} is not a certificate (${error instanceof Error ? error.message : error}); ` +
        'remove it and start again to have it made anew',
    )
  }
}

/** The key first: a certificate without its key never stands there. */
function writePair(folder: string, name: string, certificatePem: string, keyPem: string): void {
  rmSync(join(folder, `${name}.crt`), { force: true })
  writeWhole(join(folder, `${name}.key`), keyPem, 0o600)
  writeWhole(join(folder, `${name}.crt`), certificatePem, 0o644)
}

function writeWhole(path: string, text: string, mode: number): void {
  const file = openSync(`${path}.new`, 'w', mode)
  try {
    writeSync(file, text)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  chmodSync(`${path}.new`, mode)
  renameSync(`${path}.new`, path)
}

const staleLockMs = 30_000

/** A lock file, broken when it is older than any issuing takes. */
async function lock(path: string): Promise<() => void> {
  for (;;) {
    try {
      closeSync(openSync(path, 'wx', 0o600))
      return () => rmSync(path, { force: true })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      try {
        if (Date.now() - statSync(path).mtimeMs > staleLockMs) rmSync(path, { force: true })
      } catch {
        // Its holder removed it meanwhile: tried again at once.
      }
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
}
