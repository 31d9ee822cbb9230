import {
  decodeUserKey,
  encryptionRights,
  formatQualifiedName,
  parsePolicy,
  type Structure,
  toRight,
} from '@warder/covercrypt'
import type { AbeJob, Described } from './jobs.ts'

/** Describes a structure and what each user key can decrypt, by its current rights, not by its original policy. */
export function describeStructure(
  structure: Structure,
  job: Extract<AbeJob, { type: 'describe' }>,
): Described {
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
