import { kmipVersion, kmipVersions, Tag, versionNumbers } from '@warder/kmip-codec'
import { signedIn } from '../../engine/access.ts'
import { operation } from '../../engine/operation.ts'
import { field, payload, repeated, required } from '../../payloads/payload.ts'

const versions = payload({
  versions: repeated(
    field.group(Tag.ProtocolVersion, {
      major: required(field.integer(Tag.ProtocolVersionMajor)),
      minor: required(field.integer(Tag.ProtocolVersionMinor)),
    }),
  ),
})

/** DiscoverVersions (KMIP 2.1 §6.1.16): the supported versions of the client's list, in the client's order. */
export const discoverVersions = operation({
  name: 'DiscoverVersions',
  access: signedIn,
  request: versions,
  reply: versions,
  handle({ versions: asked }) {
    const known = asked.map(({ major, minor }) => kmipVersion(major, minor))
    const common =
      asked.length === 0 ? kmipVersions : new Set(known.filter((version) => version !== undefined))
    return { versions: [...common].map(versionNumbers) }
  },
})
