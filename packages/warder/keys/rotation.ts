import { printable, readDuration, requireOneName, UsageError } from '@warder/command-line'
import { kmsVerb, readKid, withKeyErrors } from '@warder/command-line/kms'
import { formatRotation } from './life-format.ts'

const none = 'none'

/** Reads a count; 0 for `none`. @throws UsageError */
function readCount(name: string, text: string): number {
  if (text === none) return 0
  if (!/^\d{1,15}$/.test(text))
    throw new UsageError(`--${name} must be a whole number or "${none}", not '${text}'`)
  return Number(text)
}

export const setRotationVerb = kmsVerb({
  name: 'set-rotation',
  words: 'KEY',
  summary: 'Set when the service rotates a key, and which old versions still decrypt',
  about: `Options that are not given stay unchanged. The interval starts at the last rotation, manual or automatic. The settings
can define a schedule for a tag or an algorithm ([[rotation.policy]]); values of the key take precedence. warder keys
show displays the effective schedule. Requires the right rekey.`,
  examples: [
    'warder keys set-rotation KEY --every 90d',
    'warder keys set-rotation KEY --after-messages 2147483648',
    'warder keys set-rotation KEY --every none',
    'warder keys set-rotation KEY --min-decrypt-version 2',
  ],
  options: {
    every: {
      type: 'text',
      value: 'TIME',
      help: 'rotation interval: 90d, 2w, 12h; "none" disables it',
    },
    'after-messages': {
      type: 'text',
      value: 'N',
      help: 'rotation after N AES-GCM messages of a version; "none" disables it',
    },
    'min-decrypt-version': {
      type: 'number',
      value: 'N',
      help: 'older versions decrypt nothing any more; can be lowered again',
    },
  },
  parse({ every, 'after-messages': messages, 'min-decrypt-version': oldest }, names) {
    const kid = readKid(requireOneName(names, 'key'))
    const body = {
      ...(every !== undefined && { rotate_every: every === none ? 0 : readDuration('every', every) / 1000 }),
      ...(messages !== undefined && { rotate_after_messages: readCount('after-messages', messages) }),
      ...(oldest !== undefined && { min_decrypt_version: oldest }),
    }
    if (Object.keys(body).length === 0)
      throw new UsageError('give at least one of --every, --after-messages and --min-decrypt-version')
    return async ({ kms, show }) => {
      const set = await withKeyErrors('key', kid, () =>
        kms.call('crypto.keys.rotation.set', { path: { kid }, body }),
      )
      const oldestText =
        set.min_decrypt_version > 1 ? `; decrypts versions ${set.min_decrypt_version} and later` : ''
      show(set, [
        printable(`${set.kid}  ${formatRotation(set) ?? 'not rotated by the service'}${oldestText}`),
      ])
      return 0
    }
  },
})
