import { type Clock, failure } from '@warder/base'
import {
  type AlgorithmPolicy,
  type BackendKey,
  canonicalName,
  type DescribedKey,
  fits,
  isJoseKey,
  type KeyBackend,
  type KeyMaterial,
  type MaterialKind,
  softwareBackend,
} from '@warder/crypto'
import {
  createRowCache,
  type Database,
  type RowCache,
  type Seal,
  StorageUnavailable,
  UnknownDataKey,
} from '@warder/storage'
import { decodeReference, openHsmKey } from '../hsm/hsm-key.ts'
import type { Hsms } from '../hsm/hsms.ts'
import type { ManagedObject, ObjectType } from './managed-object.ts'
import { mayUse, mayUseHmacKey, type Usage, type Verdict } from './may-use.ts'
import type { ObjectId } from './object-id.ts'
import { findObject, findWithMaterial, objectTopic, objectVersion } from './object-store.ts'
import { type State, stateAt } from './state-machine.ts'

/** An object whose key is decrypted in memory. Its row was validated for this use: see `createRowCache`. */
export class Key {
  readonly object: ManagedObject
  readonly #described: DescribedKey | undefined
  readonly #held: BackendKey | undefined
  readonly #problem: unknown
  readonly #clock: Clock
  readonly #policy: AlgorithmPolicy
  #public: KeyMaterial | undefined

  constructor(object: ManagedObject, opened: OpenedKey, clock: Clock, policy: AlgorithmPolicy = anything) {
    this.object = object
    this.#policy = policy
    this.#described = opened.described
    this.#held = opened.held
    this.#problem = opened.problem
    this.#clock = clock
  }

  /** The state now: dates take effect by themselves, even if the row has not been updated yet. */
  get state(): State {
    return stateAt(this.object, this.#clock.now())
  }

  /** The key of any algorithm. @throws failure('crypto_failure') when the object is no key of one piece, or was destroyed */
  get held(): BackendKey {
    if (this.#problem !== undefined) throw this.#problem
    if (this.#held === undefined) throw noKey()
    return this.#held
  }

  /** The row has no key that can be decrypted: an object with attributes only, or of another type. */
  get keyless(): boolean {
    return this.#problem === undefined && this.#held === undefined
  }

  /** The same, if it is of the JOSE algorithms. @throws failure('crypto_failure') when the object is not a key, or was destroyed */
  get described(): DescribedKey {
    if (this.#problem !== undefined) throw this.#problem
    if (this.#described === undefined) throw noKey()
    return this.#described
  }

  /** The public half: of a private key it is derived, once. @throws failure('crypto_failure') */
  get publicMaterial(): KeyMaterial {
    if (this.#public === undefined) {
      const { held, ...descriptor } = this.described
      const { publicKey } = held
      if (publicKey === undefined) throw failure('crypto_failure', 'A symmetric key has no public half.')
      this.#public = { ...descriptor, kind: 'public', key: publicKey }
    }
    return this.#public
  }

  /** May it be used so at `now`? See `mayUse`. */
  mayUse(use: Usage, now: number): Verdict {
    return mayUse(this.object, use, now, this.#policy)
  }

  /** May the HMAC key beside it be used so at `now`? See `mayUseHmacKey`. */
  mayUseHmacKey(use: 'macGenerate' | 'macVerify', now: number): Verdict {
    return mayUseHmacKey(this.object, use, now, this.#policy)
  }

  /** @throws failure('crypto_failure') when the key is bound to another algorithm */
  requireBoundTo(alg: string): this {
    const { boundAlg } = this.object
    if (boundAlg !== undefined && boundAlg !== canonicalName(alg)) {
      throw failure('crypto_failure', `The key is bound to ${boundAlg}.`)
    }
    return this
  }
}

function noKey() {
  return failure('crypto_failure', 'This object is not a usable key.')
}

const anything: AlgorithmPolicy = { fips: false }

/** Cache of keys by id, each decrypted once; synchronous for a cached key on SQLite. */
export interface KeyRing {
  readonly get: RowCache<Key>['get']
  readonly size: number
  readonly uses: RowCache<Key>['uses']
  /** Backend that uses its keys. */
  readonly backend: KeyBackend
  /** HSMs that have keys; undefined: the settings contain none. */
  readonly hsms: Hsms | undefined
}

export interface KeyRingOptions {
  readonly db: Database
  readonly seal: Seal
  readonly clock: Clock
  /** Backend that uses the keys; absent: this process. */
  readonly backend?: KeyBackend
  readonly hsms?: Hsms | undefined
  /** Keys that it does not permit are loaded, so that they can be read and destroyed, but cannot be used. */
  readonly policy?: AlgorithmPolicy
  /** Max decrypted keys. */
  readonly capacity: number
  /** PostgreSQL only: see `createRowCache`. */
  readonly leaseMs: number
}

export function createKeyRing(options: KeyRingOptions): KeyRing {
  const { db, clock, backend = softwareBackend, hsms } = options
  const cache = createRowCache<Key>({
    db,
    topic: objectTopic,
    version: objectVersion,
    async load(id) {
      const found = await openObject(options, id as ObjectId)
      if (found === undefined) return undefined
      const { object, key } = found
      const value = new Key(object, key, clock, options.policy)
      return { version: object.version, value, passing: isPassing(object, key) }
    },
    capacity: options.capacity,
    leaseMs: options.leaseMs,
    clock,
  })
  return {
    get: (id) => cache.get(id),
    get size() {
      return cache.size
    },
    get uses() {
      return cache.uses
    },
    backend,
    hsms,
  }
}

/** Problems that may end by themselves: another process may just have made the data key, or the HSM may come back. */
function isPassing({ wrappingKey }: ManagedObject, { problem }: OpenedKey): boolean {
  return problem instanceof UnknownDataKey || (problem !== undefined && wrappingKey !== undefined)
}

/** A key that cannot be decrypted can still be read and destroyed: only its use fails. */
async function openObject({ db, seal, backend, hsms }: KeyRingOptions, id: ObjectId) {
  try {
    const found = await findWithMaterial(db, seal, id, hsms)
    if (found === undefined) return undefined
    const { object, material } = found
    try {
      return { object, key: await openKey(object, material, backend, hsms) }
    } finally {
      material?.fill(0)
    }
  } catch (problem) {
    if (problem instanceof StorageUnavailable) throw problem
    const object = await findObject(db, id)
    return object === undefined ? undefined : { object, key: { ...nothing, problem } }
  }
}

const kinds: Partial<Record<ObjectType, MaterialKind>> = {
  SymmetricKey: 'secret',
  PrivateKey: 'private',
  PublicKey: 'public',
}

/** Material of an object in memory; nothing for objects that are not keys of one piece. */
export interface OpenedKey {
  /** Set for every key in canonical form. */
  readonly held: BackendKey | undefined
  /** Set for keys of the JOSE algorithms, which REST uses. */
  readonly described: DescribedKey | undefined
  /** Why it could not be decrypted. */
  readonly problem?: unknown
}

const nothing: OpenedKey = { held: undefined, described: undefined }

/** Opens an object's material in clear. The caller still owns the bytes and wipes them. */
export async function openKey(
  object: ManagedObject,
  material: Uint8Array | undefined,
  backend: KeyBackend = softwareBackend,
  hsms?: Hsms,
): Promise<OpenedKey> {
  const kind = kinds[object.type]
  const { form } = object
  // Attribute-based keys are used on their own thread (`kms/abe`).
  if (material === undefined || kind === undefined || form.format !== undefined || form.abe !== undefined)
    return nothing
  const { algorithm, bits, curve, boundAlg } = object
  const key = algorithm === undefined || bits === undefined ? undefined : { algorithm, bits, curve, boundAlg }
  const held =
    form.hsm === undefined
      ? await backend.open(kind, material)
      : openHsmKey(decodeReference(form.hsm, material), hsms)
  if (key === undefined || !isJoseKey(key)) return { held, described: undefined }
  const own = { kind, algorithm: key.algorithm, bits: key.bits }
  const descriptor = curve === undefined ? own : { ...own, curve }
  // A row that was changed must not turn a key into one of another strength.
  if (!fits(descriptor, held.shape)) throw failure('internal_error', 'stored key does not fit its descriptor')
  return { held, described: { ...descriptor, held } }
}
