import { printable, UsageError } from '@warder/command-line'
import { type KmsVerb, kmsVerb, readKid, withKeyErrors } from '@warder/command-line/kms'

const aboutJwks = `The tag jwks publishes a public key at /.well-known/jwks.json while the key is active, for verification without the
service. New signing pairs have the tag on their public half. After warder keys rotate the key set contains all versions
that still verify.`

function tagVerb(name: 'tag' | 'untag', parts: Pick<KmsVerb, 'summary' | 'about' | 'examples'>): KmsVerb {
  const operation = name === 'tag' ? 'key.tags.add' : 'key.tags.remove'
  return kmsVerb({
    name,
    words: 'KEY TAG...',
    ...parts,
    options: {},
    parse(_, [first, ...tags]) {
      if (first === undefined || tags.length === 0) throw new UsageError('name the key and at least one tag')
      const kid = readKid(first)
      return async ({ kms, show }) => {
        const after = await withKeyErrors('key', kid, () =>
          kms.call(operation, { path: { kid }, body: { tags } }),
        )
        const list = after.tags.length === 0 ? 'no tags' : after.tags.map(printable).join(', ')
        show(after, [`${printable(after.kid)}  ${list}`])
        return 0
      }
    },
  })
}

export const addTagsVerb = tagVerb('tag', {
  summary: 'Add tags to a key; the tag jwks publishes a public key',
  about: `A tag is a label for keys. The halves of a pair have separate tags.
${aboutJwks}`,
  examples: ['warder keys tag KEY backup', 'warder keys tag PUBLIC_KEY jwks'],
})

export const removeTagsVerb = tagVerb('untag', {
  summary: 'Remove tags from a key',
  about: aboutJwks,
  examples: ['warder keys untag KEY backup', 'warder keys untag OLD_PUBLIC_KEY jwks'],
})
