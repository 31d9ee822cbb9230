import { kmipVersion, kmipVersions, Tag, versionNumbers } from '@warder/kmip-codec'
import { signedIn } from '../../engine/access.ts'
import { defineOperation } from '../../engine/operation.ts'
import { definePayload, field, repeated, required } from '../../payloads/payload.ts'

const versions = definePayload({
  versions: repeated(
    field.group(Tag.ProtocolVersion, {
      major: required(field.integer(Tag.ProtocolVersionMajor)),
      minor: required(field.integer(Tag.ProtocolVersionMinor)),
    }),
  ),
})

/** DiscoverVersions (KMIP 2.1 §6.1.16): the supported versions of the client's list, in the client's order. */
export const discoverVersions = defineOperation({
  name: 'DiscoverVersions',
  reach: ['reveal public'],
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
