import { createHash, createPrivateKey, generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'
import { type Clock, Failure } from '@warder/base'
import { type AlgorithmPolicy, softwareKey } from '@warder/crypto'
import { findObject, getChainId, type KeyRing, type LastUses, useNowChanges } from '@warder/keys'
import {
  issueCertificate,
  type NameParts,
  nameFromParts,
  nameText,
  type OcspResponder,
  ocspResponder,
  parseCertificate,
  profileExtensions,
  readNameParts,
} from '@warder/pki'
import { createRowCache, type Database, type RowCache, type Seal } from '@warder/storage'
import { type Authority, createSigner, openAuthority, toIssuer } from '../authority.ts'
import { issuerByHash, issuerChanges, issuerTopic, listAuthorities } from '../register/authority-store.ts'
import { newSerial } from '../register/certificates.ts'
import { insertIssuedChange, registerId } from '../register/register-store.ts'
import { type RevocationConfig, responderValidityMs, serviceName } from '../register/settings.ts'
import { readResponder, responderChanges, responderKeySealContext } from './responder-store.ts'

const generate = promisify(generateKeyPair) as (
  type: string,
  options?: object,
) => Promise<{ readonly privateKey: KeyHalf; readonly publicKey: KeyHalf }>
interface KeyHalf {
  export(options: { readonly format: 'der'; readonly type: 'pkcs8' | 'spki' }): Buffer
}

/**
 * Makes a new key for the responder of an authority and certifies it, when half of the validity of the previous one is
 * over. The key is sealed in a table of its own: it is not an object and no user owns it.
 * @throws GuardFailed when another node was faster
 */
export async function certifyResponder(
  { db, seal }: { readonly db: Database; readonly seal: Seal },
  authority: Authority,
  owner: string,
  now: number,
): Promise<void> {
  const { parsed, issuer } = authority
  const before = await readResponder(db, issuer)
  const isQuantumSafe = /^(?:ml|slh)-dsa/.test(parsed.key.asymmetricKeyType ?? '')
  const pair = isQuantumSafe ? await generate('ml-dsa-44') : await generate('ec', { namedCurve: 'P-256' })
  const spki = pair.publicKey.export({ format: 'der', type: 'spki' })
  const second = Math.floor(now / 1000) * 1000
  const notBefore = Math.max(second - 3_600_000, parsed.notBefore)
  const notAfter = Math.min(second + responderValidityMs, parsed.notAfter)
  const subject = nameFromParts(responderName(readNameParts(parsed.subject)))
  const serial = newSerial()
  const extensions = profileExtensions('ocspResponder', { spki })
  const certificate = await issueCertificate(
    { subject, spki, notBefore, notAfter, extensions, serial },
    toIssuer(authority),
  )
  const pkcs8 = pair.privateKey.export({ format: 'der', type: 'pkcs8' })
  const privateKey = seal.seal(responderKeySealContext(issuer), pkcs8)
  pkcs8.fill(0)
  const version = Math.max((before?.version ?? 0) + 1, now)
  await db.commit([
    ...responderChanges(
      issuer,
      { privateKey, certificate, notAfter, version },
      second + (notAfter - second) / 2,
    ),
    insertIssuedChange({
      id: registerId(issuer, serial),
      issuer,
      authorityId: authority.id,
      certificateId: undefined,
      owner,
      profile: 'ocspResponder',
      subject: nameText(subject),
      fingerprint: createHash('sha256').update(certificate).digest('hex'),
      notBefore,
      notAfter,
      issuedAt: now,
      revokedAt: undefined,
      reason: undefined,
      invalidityAt: undefined,
      changedAt: now,
      crlNumber: undefined,
      version: 1,
      keyId: undefined,
      clientName: undefined,
    }),
    ...issuerChanges(db, issuer),
    ...(await useNowChanges(db, authority.key.object, serviceName, now)),
  ])
}

/** Below the name of the authority, so that constraints on names permit it. */
function responderName(parts: NameParts): NameParts {
  return [...parts.filter(([part]) => part !== 'CN'), ['CN', 'OCSP responder']]
}

export interface ResponderServices {
  readonly db: Database
  readonly seal: Seal
  readonly keys: KeyRing
  readonly clock: Clock
  readonly uses: LastUses
  readonly policy: AlgorithmPolicy
  readonly revocation: RevocationConfig
  /** See `createRowCache`. */
  readonly leaseMs: number
}

/** An issuer of this service, and the signer of responses about its certificates. */
export interface KnownIssuer {
  readonly issuer: string
  /** Decrypted for the first response; undefined: no key can sign now. */
  responder(): Promise<SigningResponder | undefined>
}

interface SigningResponder {
  readonly by: OcspResponder
  /** Its responses expire at this time at the latest. Unix milliseconds. */
  readonly notAfter: number
}

const maxIssuers = 1000

/** Issuers by the key under which a CertID names them: see `issuerKeyOf`. */
export function createResponders(services: ResponderServices): RowCache<KnownIssuer> {
  const { db, clock, leaseMs, revocation } = services
  return createRowCache<KnownIssuer>({
    db,
    topic: issuerTopic,
    version: issuerByHash,
    async load(hash) {
      const found = await db.get(issuerByHash, [hash])
      if (found === undefined) return undefined
      const { issuer, version } = found
      const value: KnownIssuer = revocation.delegatedResponder
        ? { issuer, responder: once(() => openDelegatedResponder(services, issuer)) }
        : { issuer, responder: () => byAuthority(services, issuer) }
      return { version, value }
    },
    capacity: maxIssuers,
    leaseMs,
    clock,
  })
}

/** After a failure the next caller tries again. */
function once<R>(make: () => Promise<R | undefined>): () => Promise<R | undefined> {
  let made: Promise<R | undefined> | undefined
  return () => {
    made ??= make().then(
      (value) => {
        if (value === undefined) made = undefined
        return value
      },
      (error: unknown) => {
        made = undefined
        throw error
      },
    )
    return made
  }
}

async function openDelegatedResponder(
  { db, seal, policy }: ResponderServices,
  issuer: string,
): Promise<SigningResponder | undefined> {
  const stored = await readResponder(db, issuer)
  if (stored === undefined) return undefined
  const pkcs8 = await seal.open(responderKeySealContext(issuer), stored.privateKey)
  try {
    const key = createPrivateKey({
      key: Buffer.from(pkcs8.buffer, pkcs8.byteOffset, pkcs8.length),
      format: 'der',
      type: 'pkcs8',
    })
    const { spki } = parseCertificate(stored.certificate)
    const by = ocspResponder({ key: createSigner(softwareKey(key), policy, undefined), spki }, [
      stored.certificate,
    ])
    return { by, notAfter: stored.notAfter }
  } finally {
    pkcs8.fill(0)
  }
}

/** The authority itself, loaded again for each response, because it may have been revoked since the last one. */
async function byAuthority(
  { db, keys, policy, clock, uses }: ResponderServices,
  issuer: string,
): Promise<SigningResponder | undefined> {
  const store = {
    read: (id: string) => findObject(db, id as never),
    key: async (id: string) => keys.get(id as never),
  }
  for (const one of await listAuthorities(db, issuer)) {
    try {
      const now = clock.now()
      const { parsed, signer, key } = await openAuthority({ db, policy }, store, one, now)
      uses.note(getChainId(key.object), serviceName, now)
      return { by: ocspResponder({ key: signer, spki: parsed.spki }), notAfter: parsed.notAfter }
    } catch (error) {
      if (!(error instanceof Failure) || error.kind !== 'crypto_failure') throw error
    }
  }
  return undefined
}
