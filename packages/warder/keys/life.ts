import { ClientError, type Reply } from '@warder/client'
import { printable, requireOneName, UsageError } from '@warder/command-line'
import { type KmsVerb, kmsVerb, readKid, withKeyErrors } from '@warder/command-line/kms'
import { formatState } from './life-format.ts'

type Life = Reply<'crypto.keys.disable'>

function formatLife(life: Life): string {
  return printable(`${life.kid}  ${formatState(life)}`)
}

function lifeVerb(
  name: 'disable' | 'enable' | 'restore',
  parts: Pick<KmsVerb, 'summary' | 'about' | 'examples'>,
): KmsVerb {
  return kmsVerb({
    name,
    words: 'KEY...',
    ...parts,
    options: {},
    parse(_, names) {
      const kids = [...new Set(names.map(readKid))]
      if (kids.length === 0) throw new UsageError('name at least one key')
      return async ({ kms, show }) => {
        const done: Life[] = []
        for (const kid of kids)
          done.push(await withKeyErrors('key', kid, () => kms.call(`crypto.keys.${name}`, { path: { kid } })))
        show(done, done.map(formatLife))
        return 0
      }
    },
  })
}

export const disableKeysVerb = lifeVerb('disable', {
  summary: 'Disable keys at once, each with the other half of its pair, until they are enabled again',
  about: `A disabled key cannot be used or exported, over REST, KMIP or by a cloud; nothing is lost. Requires the right revoke,
which is in the group Destroy.`,
  examples: ['warder keys disable KEY'],
})

export const enableKeysVerb = lifeVerb('enable', {
  summary: 'Enable disabled keys',
  about: 'Requires the right activate, which is in the group Modify.',
  examples: ['warder keys enable KEY'],
})

export const restoreKeysVerb = lifeVerb('restore', {
  summary: 'Cancel a pending destruction; the key works as before',
  about: `With pending_destruction_days, warder keys destroy only schedules the destruction. warder keys list --state waiting
lists such keys. Requires the right activate, which is in the group Modify.`,
  examples: ['warder keys restore KEY'],
})

/** Options of the dates of a key, by their names in the API. */
const dateOptions: Readonly<Record<string, string>> = {
  activation_at: '--begin',
  process_start_at: '--process-start',
  protect_stop_at: '--protect-stop',
  deactivation_at: '--end',
}

/** Replaces API names of dates in an error by the options of the command. */
function renameDates({ kind, status, description, requestId }: ClientError): ClientError {
  const renamed = description.replaceAll(/\b[a-z]+(?:_[a-z]+)*_at\b/g, (name) => dateOptions[name] ?? name)
  return new ClientError({ kind, status, description: renamed, requestId })
}

const datePattern = /^(none|\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?)$/
const dateHelp = 'a date or a time, 2027-01-31 or 2027-01-31T12:00:00Z; "none" removes it'

export const setDatesVerb = kmsVerb({
  name: 'set-dates',
  words: 'KEY',
  summary: 'Set when a key becomes active, stops to protect, and is deactivated',
  about: `Both halves of a pair get the dates. Past dates cannot be changed, and no date can be set in the past. Requires the
right modifyattribute, which is in the group Modify.`,
  examples: [
    'warder keys set-dates KEY --protect-stop 2027-06-30 --end 2028-06-30',
    'warder keys set-dates KEY --end none',
  ],
  options: {
    begin: {
      type: 'text',
      value: 'DATE',
      help: `activation of a key that is not active yet;\n${dateHelp}`,
    },
    'process-start': { type: 'text', value: 'DATE', help: 'decryption and verification only from then on' },
    'protect-stop': { type: 'text', value: 'DATE', help: 'no encryption and signing from then on' },
    end: { type: 'text', value: 'DATE', help: 'deactivation: from then on only decryption and verification' },
  },
  parse({ begin, 'process-start': processStart, 'protect-stop': protectStop, end }, names) {
    const kid = readKid(requireOneName(names, 'key'))
    const dates = {
      activation_at: begin,
      process_start_at: processStart,
      protect_stop_at: protectStop,
      deactivation_at: end,
    }
    const given = Object.entries(dates).filter(([, text]) => text !== undefined)
    if (given.length === 0)
      throw new UsageError('give at least one date: --begin, --process-start, --protect-stop or --end')
    for (const [name, text = ''] of given)
      if (!datePattern.test(text))
        throw new UsageError(`${dateOptions[name]} must be ${dateHelp}; not '${text}'`)
    const body = Object.fromEntries(given.map(([name, text]) => [name, text === 'none' ? null : text]))
    return async ({ kms, show }) => {
      const life = await withKeyErrors('key', kid, () =>
        kms.call('crypto.keys.dates', { path: { kid }, body }).catch((error: unknown) => {
          throw error instanceof ClientError ? renameDates(error) : error
        }),
      )
      show(life, [formatLife(life)])
      return 0
    }
  },
})
