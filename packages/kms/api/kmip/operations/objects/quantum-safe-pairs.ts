import { failure } from '@warder/foundation/errors'
import { Tag } from '@warder/kmip/tables'
import { dateTime, integer } from '@warder/kmip/ttlv'
import type { MakeQuantumSafePair } from '../../../../authority/index.ts'
import type { AlgorithmPolicy } from '../../../../crypto/index.ts'
import { newObjectId } from '../../../../keys/index.ts'
import { noRules } from '../../attributes/creation-rules.ts'
import { newObjectOf } from '../../attributes/new-object.ts'
import { makePair } from './create-key-pair.ts'
import { pairPlan, quantumSafeNames } from './pair-kinds.ts'

/** See `MakeQuantumSafePair`. */
export function quantumSafePairs(policy: AlgorithmPolicy, fips: boolean): MakeQuantumSafePair {
  return async ({ alg, owner, privateMask, publicMask }, now) => {
    const algorithm = quantumSafeNames.get(alg)
    if (algorithm === undefined) return undefined
    if (fips) throw failure('unsupported_algorithm', `'${alg}' is not made in FIPS mode.`)
    const plan = pairPlan({ algorithm, bits: undefined, curve: undefined })
    const attributes = (mask: number) => [
      integer(Tag.CryptographicUsageMask, mask),
      dateTime(Tag.ActivationDate, Math.floor(now / 1000)),
    ]
    const ids = { privateId: newObjectId(now), publicId: newObjectId(now) }
    const context = { rules: noRules, now, services: { policy }, principal: { name: owner } }
    const halves = await makePair(plan, ids, attributes(privateMask), attributes(publicMask))
    return halves.map((half) => newObjectOf(context, half))
  }
}
