import { kmipVersion, kmipVersions, Tag, versionNumbers } from '@warder/kmip/tables'
import { findMembers, integer, requireMember, requireType, structure } from '@warder/kmip/ttlv'
import type { KmipOperation } from '../../engine/index.ts'
import { signedIn } from '../../engine/index.ts'

/** DiscoverVersions (KMIP 2.1 §6.1.16): the supported versions of the client's list, in the client's order. */
export const discoverVersions: KmipOperation = {
  name: 'DiscoverVersions',
  access: signedIn,
  act(payload) {
    const asked = findMembers(payload, Tag.ProtocolVersion).map((node) => {
      const version = requireType(node, 'Structure')
      return kmipVersion(
        requireMember(version, Tag.ProtocolVersionMajor, 'Integer'),
        requireMember(version, Tag.ProtocolVersionMinor, 'Integer'),
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
