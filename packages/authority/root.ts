import { failure } from '@warder/base'
import type { AlgorithmPolicy } from '@warder/crypto'
import {
  type Key,
  type ManagedObject,
  type ObjectId,
  stageUse,
  type UnitOfWork,
  useNowChanges,
} from '@warder/keys'
import { issueCertificate, parseCertificate, profileExtensions, readNameParts } from '@warder/pki'
import { authoritySigner, newAuthority } from './authority.ts'
import { stageCertificateObject } from './certificate-object.ts'
import { requireClean } from './certify.ts'
import { requireNotCompromised } from './compromised-key-store.ts'
import type { IssueServices } from './issue.ts'
import { requireOwnAuthorityKey } from './limits.ts'
import type { StoredAuthority } from './register/authority-store.ts'
import { newSerial } from './register/certificates.ts'
import type { AuthoritySettings } from './register/settings.ts'

/** An authority that signs its own certificate. Times in Unix milliseconds. */
export interface NewRoot {
  /** DER of the name. */
  readonly subject: Uint8Array
  readonly privateKey: Key
  readonly publicKey: string | undefined
  readonly notBefore: number
  readonly notAfter: number
  readonly pathLength?: number
  /** DER of each subtree. */
  readonly permitted?: readonly Uint8Array[]
  readonly excluded?: readonly Uint8Array[]
  readonly settings: AuthoritySettings
  readonly owner: string
}

/**
 * Stages a root: its certificate as an object, and the authority.
 * @throws Failure bad_request, crypto_failure; PkiError
 */
export async function stageRoot(
  services: IssueServices & { readonly policy: AlgorithmPolicy },
  objects: UnitOfWork,
  root: NewRoot,
  now: number,
): Promise<StoredAuthority> {
  const { subject, privateKey, notBefore, notAfter } = root
  if (readNameParts(subject).length === 0)
    throw failure('bad_request', 'An authority must have a subject name.')
  const spki = exportSpki(privateKey)
  const signer = authoritySigner(privateKey, { spki }, services.policy, now)
  if (!stageUse(objects, privateKey.object, 0, true))
    throw failure('crypto_failure', 'The usage limits of the key are exhausted.')
  objects.also(...(await useNowChanges(services.db, privateKey.object, root.owner, now)))
  const extensions = profileExtensions('authority', {
    spki,
    ...(root.pathLength !== undefined && { pathLength: root.pathLength }),
    ...(root.permitted !== undefined && { permitted: root.permitted }),
    ...(root.excluded !== undefined && { excluded: root.excluded }),
  })
  const key = {
    algorithm: signer.algorithm,
    sign: (data: Uint8Array) => {
      requireClean(data, signer.algorithm)
      return signer.sign(data)
    },
  }
  const der = await issueCertificate(
    { subject, spki, notBefore, notAfter, extensions, serial: newSerial() },
    { name: subject, key, spki, keyIdentifier: undefined },
  )
  return stageAuthority(services, objects, { ...root, der, chain: [] }, now)
}

/** A certificate of an authority whose key this service has. */
export interface AuthorityCertificate
  extends Pick<NewRoot, 'privateKey' | 'publicKey' | 'settings' | 'owner'> {
  /** DER. */
  readonly der: Uint8Array
  /** DER of the certificates above it, the next one first. */
  readonly chain: readonly Uint8Array[]
}

/** Stages a certificate as an object, and as an authority. @throws Failure bad_request, PkiError */
export async function stageAuthority(
  services: IssueServices,
  objects: UnitOfWork,
  { der, chain, privateKey, publicKey, settings, owner }: AuthorityCertificate,
  now: number,
): Promise<StoredAuthority> {
  const { notBefore, notAfter, spki } = parseCertificate(der)
  await requireNotCompromised(services.db, spki, owner)
  await requireOwnAuthorityKey(services.db, privateKey.object, spki, owner)
  const links = [
    ...(publicKey === undefined ? [] : [{ kind: 'PublicKeyLink', id: publicKey }]),
    { kind: 'PrivateKeyLink', id: privateKey.object.id },
  ]
  const wanted = { der: Buffer.from(der), owner, links, notBefore, notAfter }
  const object = await stageCertificateObject(services, objects, wanted, now)
  return openForIssuing(services, objects, { object, der, chain, keyId: privateKey.object.id, settings }, now)
}

/** Stages that an object is the certificate of an authority. */
export function openForIssuing(
  { db }: Pick<IssueServices, 'db'>,
  objects: UnitOfWork,
  {
    object,
    der,
    chain,
    keyId,
    settings,
  }: {
    readonly object: ManagedObject
    readonly der: Uint8Array
    readonly chain: readonly Uint8Array[]
    readonly keyId: ObjectId
    readonly settings: AuthoritySettings
  },
  now: number,
): StoredAuthority {
  const made = { id: object.id, keyId, certificate: der, chain, settings, createdAt: now }
  const { authority, changes } = newAuthority(db, made)
  objects.also(...changes)
  return authority
}

/** DER of the public half. @throws Failure crypto_failure for keys without one */
export function exportSpki(key: Key): Buffer {
  const { publicKey } = key.held
  if (publicKey === undefined) throw failure('crypto_failure', 'Only pairs of keys can be certified.')
  return publicKey.export({ format: 'der', type: 'spki' })
}
