import type { Reply } from '@warder/client'
import { formatTable, printable, UsageError } from '@warder/command-line'
import { type KmsVerb, kmsVerb, readKid, withKeyErrors } from '@warder/command-line/kms'

type Alias = Reply<'crypto.aliases.get'>
type Work = ReturnType<KmsVerb['parse']>

const pageSize = 1000

const toRow = ({ alias, kid, changed_at }: Alias) => [alias, kid, changed_at]

const list: Work = async ({ kms, show }) => {
  const aliases: Alias[] = []
  for (;;) {
    const after = aliases.at(-1)?.alias
    const page = await kms.call('crypto.aliases.list', { query: after === undefined ? {} : { after } })
    aliases.push(...page)
    if (page.length < pageSize) break
  }
  show({ aliases }, formatTable(['ALIAS', 'KEY', 'SINCE'], aliases.map(toRow), 'you have no aliases'))
  return 0
}

function showOne(alias: string): Work {
  return async ({ kms, show }) => {
    const found = await withKeyErrors('alias', alias, () =>
      kms.call('crypto.aliases.get', { path: { alias } }),
    )
    show(found, [printable(`${found.full_alias} is ${found.kid}`)])
    return 0
  }
}

function remove(alias: string): Work {
  return async ({ kms, show }) => {
    await withKeyErrors('alias', alias, () => kms.call('crypto.aliases.delete', { path: { alias } }))
    show({ alias, deleted: true }, [printable(`${alias}: deleted; the key stays`)])
    return 0
  }
}

function create(alias: string, kid: string): Work {
  return async ({ kms, show }) => {
    const made = await withKeyErrors('key', kid, () =>
      kms.call('crypto.aliases.create', { body: { alias, kid } }),
    )
    show(made, [printable(`${made.alias} is ${made.kid}`)])
    return 0
  }
}

function move(alias: string, kid: string): Work {
  return async ({ kms, show }) => {
    const moved = await withKeyErrors('alias', alias, () =>
      kms.call('crypto.aliases.move', { path: { alias }, body: { kid } }),
    )
    show(moved, [printable(`${moved.alias} is ${moved.kid} from now on`)])
    return 0
  }
}

export const aliasVerb = kmsVerb({
  name: 'alias',
  words: '[NAME [KEY]]',
  summary: 'List, create, move and delete names for keys',
  about: `alias/invoices can be used wherever a key is named. Aliases belong to their user: alias/invoices@alice is the alias of
alice; using her key still requires rights on it. Without NAME it lists your aliases; with NAME alone it shows one. A
moved alias refers to the other key at once; data that was encrypted before names the old key itself and stays readable.`,
  examples: [
    'warder keys alias invoices KEY',
    'warder crypto encrypt report.pdf --key alias/invoices',
    'warder keys alias invoices NEW_KEY --move',
    'warder keys alias invoices --delete',
  ],
  options: {
    move: { type: 'flag', help: 'moves an existing alias to another key' },
    delete: { type: 'flag', help: 'deletes the alias; the key stays' },
  },
  parse(values, names) {
    const [alias, key, ...more] = names
    if (more.length > 0) throw new UsageError('name one alias, and at most one key')
    if (values.move && (key === undefined || values.delete))
      throw new UsageError('--move needs the alias and its new key')
    if (values.delete && (alias === undefined || key !== undefined))
      throw new UsageError('--delete needs one alias')
    if (alias === undefined) return list
    readKid(alias)
    if (values.delete) return remove(alias)
    if (key === undefined) return showOne(alias)
    return values.move ? move(alias, readKid(key)) : create(alias, readKid(key))
  },
})
