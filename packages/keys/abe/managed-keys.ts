import { createHash } from 'node:crypto'
import { failure } from '@warder/base'
import type { Database } from '@warder/storage'
import type { AbeForm, ManagedObject } from '../objects/managed-object.ts'
import type { ObjectId } from '../objects/object-id.ts'
import { stateAt, withheld, withheldSentences } from '../objects/state-machine.ts'
import type { UnitOfWork } from '../objects/unit-of-work.ts'
import { changesNames, type RotationAction, refreshesUsers } from './actions.ts'
import { abeThread } from './thread.ts'
import { listUserKeys } from './user-key-store.ts'

/** Value of `ManagedObject.algorithm` for these keys. */
export const abeAlgorithm = 'CoverCrypt'
/** Bytes of all user keys that one rotation refreshes. */
const maxRefreshedBytes = 128 * 1024 * 1024

/** Max bytes of a master key to which user keys are added: each user key makes it longer, no matter who issues it. */
const maxMasterBytes = 8 * 1024 * 1024

/** The form of a key with these bytes. */
export function abeForm(material: Uint8Array, form: Omit<AbeForm, 'digest'>): AbeForm {
  return { ...form, digest: createHash('sha256').update(material).digest('base64url') }
}

/** CryptographicLength of a key: its bytes, in bits. */
export function abeBits(material: Uint8Array): number {
  return 8 * material.length
}

/** @throws failure('crypto_failure') unless the object is such a key */
export function requireAbe(object: ManagedObject, kind: AbeForm['kind']): AbeForm {
  const { abe } = object.form
  if (abe?.kind === kind) return abe
  throw failure(
    'crypto_failure',
    `The key is ${abe === undefined ? 'not an attribute-based key' : `${shown[abe.kind]}, not ${shown[kind]}`}.`,
  )
}

const shown: Readonly<Record<AbeForm['kind'], string>> = {
  master: 'an attribute-based master key',
  public: 'an attribute-based public key',
  user: 'an attribute-based user key',
}

/** A master key makes user keys and changes while it is Active or Pre-Active. @throws failure('crypto_failure') */
function requireUsableMaster(master: ManagedObject, now: number): AbeForm {
  const form = requireAbe(master, 'master')
  const kept = withheld(master)
  if (kept !== undefined) throw failure('crypto_failure', withheldSentences[kept])
  const state = stateAt(master, now)
  if (state === 'Active' || state === 'PreActive') return form
  throw failure('crypto_failure', `The master key is ${state}: it can no longer create or change keys.`)
}

/** The material of a key that must have one. @throws failure('crypto_failure') */
export async function abeMaterial(
  objects: UnitOfWork,
  object: Pick<ManagedObject, 'id' | 'form'>,
): Promise<Uint8Array> {
  const material = await objects.material(object)
  if (material === undefined)
    throw failure('crypto_failure', 'The service does not have the value of the key.')
  return material
}

export interface NewUserKey {
  /** The caller wipes it. */
  readonly material: Uint8Array
  readonly form: AbeForm
  /** Number of its rights. */
  readonly rights: number
}

/**
 * Makes a user key and stages the master key that knows it, guarded by the version that was read: two user keys at once
 * are both known.
 *
 * @throws CovercryptError of the policy, failure('crypto_failure')
 */
export async function issueUserKey(
  objects: UnitOfWork,
  master: ManagedObject,
  policy: string,
  now: number,
): Promise<NewUserKey> {
  const form = requireUsableMaster(master, now)
  const before = await abeMaterial(objects, master)
  try {
    const made = await abeThread.run({ type: 'createUser', master: before, policy })
    if (made.master.length > maxMasterBytes) {
      for (const bytes of [made.master, made.user]) bytes.fill(0)
      throw failure(
        'crypto_failure',
        `The user keys of a master key must not exceed ${maxMasterBytes} bytes in total.`,
      )
    }
    stageChange(objects, master, made.master, form)
    const user = abeForm(made.user, { kind: 'user', policy, master: master.id })
    return { material: made.user, form: user, rights: made.rights }
  } finally {
    before.fill(0)
  }
}

function stageChange(objects: UnitOfWork, object: ManagedObject, material: Uint8Array, form: AbeForm): void {
  const { digest: _old, ...rest } = form
  const abe = abeForm(material, rest)
  objects.update(object, { bits: abeBits(material), form: { ...object.form, abe } }, material)
  material.fill(0)
}

export interface Rotation {
  readonly refreshed: readonly ObjectId[]
  /** User keys that the master key does not know, or that were altered. */
  readonly foreign: readonly ObjectId[]
}

/**
 * Changes a master key, its public key and, if the action concerns them, the user keys that may still be used, all in
 * the unit's one commit.
 *
 * @throws CovercryptError of the action, failure('crypto_failure')
 */
export async function rotateMaster(
  objects: UnitOfWork,
  db: Database,
  pair: { readonly master: ManagedObject; readonly publicKey: ManagedObject; readonly caller: string },
  action: RotationAction,
  now: number,
): Promise<Rotation> {
  const form = requireUsableMaster(pair.master, now)
  const publicForm = requireAbe(pair.publicKey, 'public')
  if (changesNames(action) && pair.caller !== pair.master.owner)
    throw failure(
      'forbidden',
      'Only the owner of a master key can add, rename and delete attributes; other users can renew secrets and disable attributes.',
    )
  if (stateAt(pair.publicKey, now).startsWith('Destroyed'))
    throw failure('crypto_failure', 'The public key of this master key is destroyed.')
  const found = refreshesUsers(action) ? await listUserKeys(db, pair.master.id) : []
  const users: ManagedObject[] = []
  for (const { id } of found) {
    const user = await objects.read(id)
    if (user !== undefined && isRefreshed(user, now)) users.push(user)
  }
  const secrets: Uint8Array[] = []
  try {
    const master = await abeMaterial(objects, pair.master)
    secrets.push(master)
    let bytes = 0
    for (const user of users) {
      const material = await abeMaterial(objects, user)
      secrets.push(material)
      bytes += material.length
      if (bytes > maxRefreshedBytes)
        throw failure(
          'crypto_failure',
          'The user keys of this master key are too large to be refreshed at once.',
        )
    }
    const { nextAttributeId = 0, formerNames = {} } = form
    const job = {
      ...({ type: 'rotate', master, action, nextAttributeId, formerNames } as const),
      users: secrets.slice(1),
    }
    const done = await abeThread.run(job)
    stageChange(objects, pair.master, done.master, {
      ...form,
      nextAttributeId: done.nextAttributeId,
      ...(Object.keys(done.formerNames).length > 0 && { formerNames: done.formerNames }),
    })
    stageChange(objects, pair.publicKey, done.publicKey, publicForm)
    const refreshed: ObjectId[] = []
    const foreign: ObjectId[] = []
    for (const [index, user] of users.entries()) {
      const material = done.users[index]
      ;(material === undefined ? foreign : refreshed).push(user.id)
      if (material !== undefined) stageChange(objects, user, material, requireAbe(user, 'user'))
    }
    return { refreshed, foreign }
  } finally {
    for (const secret of secrets) secret.fill(0)
  }
}

/** A user key is refreshed while it may decrypt new data: not when it is revoked. */
function isRefreshed(user: ManagedObject, now: number): boolean {
  const state = stateAt(user, now)
  return state === 'Active' || state === 'PreActive'
}
