import { Enumeration, Tag } from '@warder/kmip/tables'
import { byteString, enumeration, integer, structure } from '@warder/kmip/ttlv'
import { stateAt } from '../../objects/index.ts'
import type { KmipOperation } from '../engine/index.ts'
import { kmipFailure, objectRight, uniqueIdentifier } from '../engine/index.ts'
import { storedWithTag } from '../object/index.ts'

/** Get (KMIP 2.1 §6.1.25) of a symmetric key as it is. */
export const get: KmipOperation = {
  name: 'Get',
  access: objectRight('get'),
  async act(_payload, { object, objects, now }) {
    const state = stateAt(object, now)
    if (state === 'Destroyed' || state === 'Destroyed_Compromised')
      throw kmipFailure('ObjectDestroyed', 'DENIED')
    if (storedWithTag(object, Tag.Sensitive)[0]?.value === true) throw kmipFailure('Sensitive', 'DENIED')
    if (storedWithTag(object, Tag.Extractable)[0]?.value === false)
      throw kmipFailure('NotExtractable', 'DENIED')
    if (object.type !== 'SymmetricKey')
      throw kmipFailure('KeyFormatTypeNotSupported', `Objects of type ${object.type} cannot be got.`)
    const material = await objects.material(object)
    if (material === undefined) throw kmipFailure('KeyValueNotPresent', 'The key has no value here.')
    return [
      enumeration(Tag.ObjectType, Enumeration.ObjectType.SymmetricKey),
      uniqueIdentifier(object.id),
      structure(Tag.SymmetricKey, [
        structure(Tag.KeyBlock, [
          enumeration(Tag.KeyFormatType, Enumeration.KeyFormatType.Raw),
          structure(Tag.KeyValue, [byteString(Tag.KeyMaterial, material)]),
          storedWithTag(object, Tag.CryptographicAlgorithm)[0],
          object.bits === undefined ? undefined : integer(Tag.CryptographicLength, object.bits),
        ]),
      ]),
    ]
  },
}
