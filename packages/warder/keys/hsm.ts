import type { Reply } from '@warder/client'
import { formatTable, printable, requireOneName, UsageError } from '@warder/command-line'
import { kmsVerb } from '@warder/command-line/kms'

type HsmKey = Reply<'crypto.hsms.keys.list'>['keys'][number]

function formatAccess(key: HsmKey): string {
  return [
    key.sensitive ? 'sensitive' : 'not sensitive',
    key.extractable ? 'extractable' : key.never_extractable ? 'never extractable' : 'not extractable now',
    key.local ? 'generated there' : 'imported there',
  ].join(', ')
}

export const listHsmKeysVerb = kmsVerb({
  name: 'hsm list',
  words: 'HSM',
  summary: 'List the keys in an HSM, and which of them are registered',
  about:
    'Requires an administrator of the HSM (setting admins or hsm_admin). Keys of other programs are listed as well.',
  examples: ['warder keys hsm list main'],
  options: {},
  parse(_, names) {
    const hsm = requireOneName(names, 'HSM')
    return async ({ kms, show }) => {
      const keys: HsmKey[] = []
      for (;;) {
        const query = { from: String(keys.length) }
        const page = await kms.call('crypto.hsms.keys.list', { path: { hsm }, query })
        keys.push(...page.keys)
        if (page.keys.length === 0 || keys.length >= page.total) break
      }
      const rows = keys.map((key) => [
        ...[key.label, key.key_id, key.bits === undefined ? key.type : `${key.type} ${key.bits}`],
        ...[formatAccess(key), key.kid ?? 'not registered'],
      ])
      const columns = ['LABEL', 'ID', 'TYPE', 'ACCESS', 'KEY']
      show({ keys }, formatTable(columns, rows, 'the HSM has no keys'))
      return 0
    }
  },
})

type Wrapping = Reply<'crypto.hsms.wrapping.get'>

function formatWrapping({ rules, keys, waiting, check }: Wrapping): readonly string[] {
  const fits = (name: string, values: readonly string[]): readonly string[] =>
    values.length === 0 ? [] : [`${name} ${values.join(', ')}`]
  const lines = rules.map(({ key, tags, owners }) => {
    const [of = 'all other objects'] = [[...fits('tags', tags), ...fits('owners', owners)].join('; ')].filter(
      Boolean,
    )
    return `${printable(key)}  wraps ${printable(of)}`
  })
  const counts = keys.map(({ kid, objects }) => `${printable(kid)}  ${objects} objects are wrapped`)
  const checks =
    check === undefined
      ? []
      : [
          `check ${check.state}: ${check.checked} objects, ${check.rewrapped} rewrapped, ${check.failed} failed`,
        ]
  const changed = waiting === 0 ? [] : [`${waiting} changed keys have to be checked`]
  const all = [...lines, ...counts, ...checks, ...changed]
  return all.length === 0 ? ['no key of the HSM wraps objects'] : all
}

export const hsmWrappingVerb = kmsVerb({
  name: 'hsm wrapping',
  words: 'HSM',
  summary: 'Show which objects keys of an HSM wrap in the database',
  about: `The settings hsm_wrapping and key_encryption_key name the keys. After a change, objects are rewrapped in the background.
For the administrators of the HSM, whom the settings name.`,
  examples: ['warder keys hsm wrapping main', 'warder keys hsm wrapping main --check'],
  options: { check: { type: 'flag', help: 'check all objects again, and those that failed' } },
  parse({ check }, names) {
    const hsm = requireOneName(names, 'HSM')
    return async ({ kms, show }) => {
      const operation = check ? 'crypto.hsms.wrapping.check' : 'crypto.hsms.wrapping.get'
      const wrapping = await kms.call(operation, { path: { hsm } })
      show(wrapping, formatWrapping(wrapping))
      return 0
    }
  },
})

export const registerHsmKeyVerb = kmsVerb({
  name: 'hsm register',
  words: 'HSM LABEL',
  summary: 'Register a key that exists in an HSM; prints its id',
  about: `The key stays in the HSM. From then on it has an owner, rights and a life cycle like other keys, and is removed
from the HSM when it is destroyed. Requires an administrator of the HSM (setting admins or hsm_admin).`,
  examples: [
    'warder keys hsm register main signing --alg ES256',
    'warder keys hsm register main old --id 0a1b',
  ],
  options: {
    alg: {
      type: 'text',
      value: 'ALG',
      help: 'the only permitted algorithm (default: every algorithm of its type)',
    },
    id: { type: 'text', value: 'HEX', help: 'CKA_ID of the key; required if several keys have the label' },
    class: {
      type: 'text',
      value: 'CLASS',
      help: 'secret or private; required if a secret and a private key have the label',
    },
    tag: { type: 'list', value: 'T', help: 'tag of the key; repeatable' },
  },
  parse({ alg, id, class: kind, tag: tags }, [hsm, label, ...rest]) {
    if (hsm === undefined || label === undefined || rest.length > 0)
      throw new UsageError('name the HSM and the label of the key')
    const body = {
      label,
      ...(alg !== undefined && { alg }),
      ...(id !== undefined && { key_id: id.toLowerCase() }),
      ...(kind !== undefined && { class: kind }),
      ...(tags.length > 0 && { tags }),
    }
    return async ({ kms, show }) => {
      const made = await kms.call('crypto.hsms.keys.register', { path: { hsm }, body })
      const where = made.hardware
        ? 'never outside of the HSM'
        : 'the HSM does not report that it was never outside'
      const open = made.kid_public === undefined ? [] : [`${printable(made.kid_public)}  ${made.kty}, public`]
      show(made, [`${printable(made.kid)}  ${printable(made.kty)}, ${where}`, ...open])
      return 0
    }
  },
})
