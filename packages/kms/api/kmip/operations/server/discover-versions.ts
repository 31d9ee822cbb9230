import { kmipVersion, kmipVersions, Tag, versionNumbers } from '@warder/kmip/tables'
import { integer, membersOf, required, structure, typed } from '@warder/kmip/ttlv'
import type { KmipOperation } from '../../engine/index.ts'
import { signedIn } from '../../engine/index.ts'

/** DiscoverVersions (KMIP 2.1 §6.1.16): those that are spoken here, of the client's list in the client's order. */
export const discoverVersions: KmipOperation = {
  name: 'DiscoverVersions',
  access: signedIn,
  act(payload) {
    const asked = membersOf(payload, Tag.ProtocolVersion).map((node) => {
      const version = typed(node, 'Structure')
      return kmipVersion(
        required(version, Tag.ProtocolVersionMajor, 'Integer'),
        required(version, Tag.ProtocolVersionMinor, 'Integer'),
      )
    })
    const known = asked.filter((version) => version !== undefined)
    const common = asked.length === 0 ? kmipVersions : [...new Set(known)]
    return common.map((version) => {
      const { major, minor } = versionNumbers(version)
      return structure(Tag.ProtocolVersion, [
        integer(Tag.ProtocolVersionMajor, major),
        integer(Tag.ProtocolVersionMinor, minor),
      ])
    })
  },
}
