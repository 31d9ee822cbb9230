// The thread of attribute-based encryption: only this thread uses its keys, one job after the other.
import { constants, setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import { toFailure } from '@warder/base'
import {
  CovercryptError,
  covercryptError,
  createMasterKey,
  createUserKey,
  decodeMasterKey,
  decodePublicKey,
  decodeUserKey,
  derivePublicKey,
  encodeMasterKey,
  encodePublicKey,
  encodeUserKey,
  encryptionRights,
  formatQualifiedName,
  type MasterKey,
  nextAttributeId,
  parsePolicy,
  refreshUserKey,
  type Structure,
  structureFromJson,
  toRight,
  userRights,
} from '@warder/covercrypt'
import { openData, sealData } from './data.ts'
import type { AbeJob, AbeKind, AbeResults, CreatedUser, Described, Recognised, Rotated } from './jobs.ts'
import { keepNames, rotateMasterKey } from './rotated.ts'

type AbeJobWithType<Type extends AbeJob['type']> = Extract<AbeJob, { type: Type }>

function createUser({ master, policy }: AbeJobWithType<'createUser'>): CreatedUser {
  const key = decodeMasterKey(master)
  const rights = userRights(key.structure, parsePolicy(policy))
  const issued = createUserKey(key, rights)
  return { master: encodeMasterKey(issued.master), user: encodeUserKey(issued.userKey), rights: rights.size }
}

const decoders: Readonly<Record<AbeKind, (key: Uint8Array) => number>> = {
  master: (key) => nextAttributeId(decodeMasterKey(key).structure, 0),
  public: (key) => nextAttributeId(decodePublicKey(key).structure, 0),
  user: (key) => decodeUserKey(key).id.length,
}

/** Finds the first kind as which the bytes parse. @throws CovercryptError with the errors of all kinds */
function recognise({ key, kinds }: AbeJobWithType<'recognise'>): Recognised {
  const reasons: string[] = []
  for (const kind of kinds) {
    try {
      return { kind, nextAttributeId: decoders[kind](key) }
    } catch (error) {
      if (!(error instanceof CovercryptError)) throw error
      reasons.push(error.message)
    }
  }
  const names = kinds.map((kind) => `a ${kind} key`)
  throw covercryptError(
    'malformed',
    `The bytes are ${names.length === 1 ? `not ${names[0]}` : `neither ${names.join(' nor ')}`} of Covercrypt 16 (keys of earlier versions have another format). ${reasons.join(' ')}`,
  )
}

function rotate({
  master,
  action,
  nextAttributeId: floor,
  formerNames,
  users,
}: AbeJobWithType<'rotate'>): Rotated {
  const before = decodeMasterKey(master)
  const { key, nextAttributeId: next } = rotateMasterKey(before, action, floor)
  return {
    master: encodeMasterKey(key),
    publicKey: encodePublicKey(derivePublicKey(key)),
    nextAttributeId: next,
    formerNames: keepNames(before.structure, key.structure, formerNames),
    users: users.map((user) => refresh(key, user)),
  }
}

function refresh(master: MasterKey, user: Uint8Array): Uint8Array | undefined {
  try {
    return encodeUserKey(refreshUserKey(master, decodeUserKey(user)))
  } catch (error) {
    if (error instanceof CovercryptError) return undefined
    throw error
  }
}

function run(job: AbeJob): AbeResults[AbeJob['type']] {
  switch (job.type) {
    case 'createMaster': {
      const key = createMasterKey(structureFromJson(job.structure))
      const publicKey = encodePublicKey(derivePublicKey(key))
      return { master: encodeMasterKey(key), publicKey, nextAttributeId: nextAttributeId(key.structure, 0) }
    }
    case 'createUser':
      return createUser(job)
    case 'recognise':
      return recognise(job)
    case 'rotate':
      return rotate(job)
    case 'seal':
      return sealData(decodePublicKey(job.publicKey), job)
    case 'open':
      return openData(decodeUserKey(job.userKey), job)
    case 'describe':
      return describeStructure(decodePublicKey(job.publicKey).structure, job)
  }
}

/** The job has its own copies of keys and plaintexts of this thread. */
function wipe(job: AbeJob): void {
  for (const value of Object.values(job).flat()) if (value instanceof Uint8Array) value.fill(0)
}

// Short requests run before long ABE jobs. Only Linux has a priority per thread; elsewhere it is that of the process.
if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_LOW)

parentPort?.on('message', ({ id, job }: { readonly id: number; readonly job: AbeJob }) => {
  try {
    parentPort?.postMessage({ id, result: run(job) })
  } catch (thrown) {
    const { kind, message, detail } = toFailure(thrown)
    const failed = { kind, message, detail }
    const known = thrown instanceof CovercryptError
    parentPort?.postMessage({
      id,
      failed: known ? { ...failed, message: thrown.message, code: thrown.code, item: thrown.item } : failed,
    })
  } finally {
    wipe(job)
  }
})

/** Describes a structure and what each user key can decrypt, by its current rights, not by its original policy. */
function describeStructure(structure: Structure, job: Extract<AbeJob, { type: 'describe' }>): Described {
  const singles = structure.dimensions.flatMap((dimension) =>
    dimension.attributes.map((one) => ({
      name: formatQualifiedName(dimension, one),
      right: toRight([one.id]),
    })),
  )
  const targets =
    job.policy === undefined ? undefined : [...encryptionRights(structure, parsePolicy(job.policy))]
  return {
    dimensions: structure.dimensions.map(({ name, ordered, attributes }) => ({
      name,
      ordered,
      attributes: attributes.map(({ name, mode, enabled }) => ({ name, mode, enabled })),
    })),
    users: job.users.map((bytes) => {
      const { rights } = decodeUserKey(bytes)
      return {
        reads: singles.filter(({ right }) => rights.has(right)).map(({ name }) => name),
        opens: targets?.some((right) => rights.has(right)),
      }
    }),
  }
}
