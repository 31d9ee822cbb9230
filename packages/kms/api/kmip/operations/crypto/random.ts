import { randomBytes } from 'node:crypto'
import { Tag } from '@warder/kmip/tables'
import { byteString, integer, requireMember } from '@warder/kmip/ttlv'
import { type KmipOperation, kmipFailure, signedIn } from '../../engine/index.ts'

/** Maximum number of bytes of one RNGRetrieve. */
const maxRandomBytes = 65_536
const maxSeedBytes = 65_536

/** RNGRetrieve (KMIP 2.1 §6.1.49): bytes of OpenSSL's generator. */
export const rngRetrieve: KmipOperation = {
  name: 'RNGRetrieve',
  access: signedIn,
  act(payload) {
    const length = requireMember(payload, Tag.DataLength, 'Integer')
    if (length < 1 || length > maxRandomBytes)
      throw kmipFailure('InvalidField', `DataLength is 1 to ${maxRandomBytes}.`)
    return [byteString(Tag.Data, randomBytes(length))]
  },
}

/**
 * RNGSeed (KMIP 2.1 §6.1.50): OpenSSL seeds itself from the operating system. The client's seed is not used, so that no
 * client can influence the generator: the answer is 0 bytes used, as the standard allows.
 */
export const rngSeed: KmipOperation = {
  name: 'RNGSeed',
  access: signedIn,
  act(payload) {
    if (requireMember(payload, Tag.Data, 'ByteString').length > maxSeedBytes)
      throw kmipFailure('InvalidField', `A seed has at most ${maxSeedBytes} bytes.`)
    return [integer(Tag.DataLength, 0)]
  },
}
