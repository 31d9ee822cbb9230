import type { Database } from '@warder/foundation/sql'
import { Tag } from '@warder/kmip/tables'
import { dateTime, integer, type TtlvNode } from '@warder/kmip/ttlv'
import type { AlgorithmPolicy } from '../../../crypto/index.ts'
import type { ApplyCreationRules, NewObject } from '../../../keys/index.ts'
import { KmipFailure, toPublicFailure } from '../failure/failure.ts'
import { defaultAlgorithm, readStoredAttributes } from '../stored/stored-attributes.ts'
import { type CreationRules, noRules, withDefaults } from './creation-rules.ts'
import { readRules } from './creation-rules-store.ts'
import { buildNewObject } from './new-object.ts'

/** Applies a user's rules from SetDefaults and SetConstraints to objects that the user creates over REST. */
export function createCreationGate(services: {
  readonly db: Database
  readonly policy: AlgorithmPolicy
}): ApplyCreationRules {
  return async (owner, created, now, kind = 'new') => {
    const all = await readRules(services.db, owner)
    if (all === noRules) return created
    const rules = kind === 'new' ? all : { ...all, defaults: undefined }
    try {
      return created.map((one) => applyRuling(one, { rules, now, services, principal: { name: owner } }))
    } catch (error) {
      throw error instanceof KmipFailure ? toPublicFailure(error).failure : error
    }
  }
}

interface Ruling {
  readonly rules: CreationRules
  readonly now: number
  readonly services: { readonly policy: AlgorithmPolicy }
  readonly principal: { readonly name: string }
}

/** @throws kmipFailure ConstraintViolation, or the failure of a default that does not fit */
function applyRuling(created: NewObject, ruling: Ruling): NewObject {
  const { object, material, tags } = created
  const { id, type, algorithm, bits, curve, boundAlg, linkedId, activationAt, deactivationAt, usageMask } =
    object
  const given: readonly TtlvNode[] = [defaultAlgorithm(object), ...readStoredAttributes(object)].filter(
    (node) => node !== undefined,
  )
  const columns: readonly TtlvNode[] = [
    integer(Tag.CryptographicUsageMask, usageMask),
    ...(bits === undefined ? [] : [integer(Tag.CryptographicLength, bits)]),
    ...date(Tag.ActivationDate, activationAt),
    ...date(Tag.DeactivationDate, deactivationAt),
  ]
  const said = new Set(given)
  const attributes = withDefaults(ruling.rules, type, [...given, ...columns]).filter(
    (node) => !said.has(node),
  )
  const key = { type, algorithm, bits, curve, boundAlg, material, id, linkedId }
  const made = buildNewObject(ruling, { ...key, attributes, given })
  return {
    ...created,
    object: { ...made.object, activationAt, form: object.form },
    tags: [...new Set([...tags, ...made.tags])],
  }
}

function date(tag: number, at: number | undefined): readonly TtlvNode[] {
  return at === undefined ? [] : [dateTime(tag, Math.floor(at / 1000))]
}
