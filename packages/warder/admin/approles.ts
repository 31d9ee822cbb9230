import { StartupError } from '@warder/foundation/errors'
import { printable, tableLines } from '../cli/table.ts'
import { Words } from '../cli/words.ts'
import type { AdminApi } from './api.ts'
import type { Verb } from './verb.ts'

const roleAt = (name: string): string => `/auth/approle/role/${encodeURIComponent(name)}`

interface SecretId {
  readonly secret_id: string
  readonly secret_id_accessor: string
}

/** What limits a secret id; undefined = as the role says. */
interface SecretIdLimits {
  readonly ttl: number | undefined
  readonly num_uses: number | undefined
}

function limitsFrom(words: Words): SecretIdLimits {
  return { ttl: words.number('secret-id-ttl'), num_uses: words.number('secret-id-uses') }
}

async function makeSecretId(api: AdminApi, role: string, limits: SecretIdLimits): Promise<SecretId> {
  const { data } = (await api.ask('POST', `${roleAt(role)}/secret-id`, {
    ttl: limits.ttl ?? 0,
    num_uses: limits.num_uses ?? 0,
  })) as { readonly data: SecretId }
  return data
}

const secretIdLines = (secret: SecretId): readonly string[] => [
  `secret id: ${secret.secret_id}    (shown once)`,
  `accessor:  ${secret.secret_id_accessor}    (to destroy it by)`,
]

export const listAppRoles: Verb = {
  name: 'approles',
  words: '',
  summary: 'AppRoles of the realms that you administer',
  parse(args) {
    new Words(args).end()
    return async ({ api, show }) => {
      const answer = (await api.ask('GET', '/auth/approle/role?list=true')) as {
        readonly data: { readonly keys: readonly string[] }
      }
      const { keys } = answer.data
      show(
        keys,
        tableLines(
          ['APPROLE'],
          keys.map((key) => [key]),
          'there is no AppRole that you administer',
        ),
      )
    }
  },
}

export const addAppRole: Verb = {
  name: 'add-approle',
  words: 'NAME --realm R [--policy P]... [--token-ttl S] [--secret-id-ttl S] [--secret-id-uses N]',
  summary: 'makes an AppRole and a secret id for one machine; shows what the machine needs, once',
  parse(args) {
    const words = new Words(args)
    const realm = words.required('realm')
    const policies = words.every('policy')
    const tokenTtl = words.number('token-ttl')
    const limits = limitsFrom(words)
    const name = words.name('role: warder admin add-approle NAME --realm R')
    return async ({ api, show }) => {
      if ((await api.find(roleAt(name))) !== undefined) {
        throw new StartupError(
          `there is an AppRole ${printable(name)} already; another secret id: new-secret-id ${printable(name)}`,
        )
      }
      await api.ask('POST', `${roleAt(name)}?realm=${encodeURIComponent(realm)}`, {
        token_policies: policies,
        ...(tokenTtl === undefined ? {} : { token_ttl: tokenTtl }),
        ...(limits.ttl === undefined ? {} : { secret_id_ttl: limits.ttl }),
      })
      const { data } = (await api.ask('GET', `${roleAt(name)}/role-id`)) as {
        readonly data: { readonly role_id: string }
      }
      const secret = await makeSecretId(api, name, limits)
      show({ name, realm, role_id: data.role_id, ...secret }, [
        `added AppRole ${printable(name)} of realm ${printable(realm)}`,
        `role id:   ${data.role_id}`,
        ...secretIdLines(secret),
      ])
    }
  },
}

export const newSecretId: Verb = {
  name: 'new-secret-id',
  words: 'NAME [--secret-id-ttl S] [--secret-id-uses N]',
  summary: 'one more secret id of an AppRole, for one more machine',
  parse(args) {
    const words = new Words(args)
    const limits = limitsFrom(words)
    const name = words.name('role: warder admin new-secret-id NAME')
    return async ({ api, show }) => {
      const secret = await makeSecretId(api, name, limits)
      show({ name, ...secret }, secretIdLines(secret))
    }
  },
}

export const deleteAppRole: Verb = {
  name: 'delete-approle',
  words: 'NAME',
  summary: 'deletes an AppRole; its secret ids and tokens are worth nothing from then on',
  parse(args) {
    const words = new Words(args)
    const name = words.name('role: warder admin delete-approle NAME')
    return async ({ api, show, confirm }) => {
      if ((await api.find(roleAt(name))) === undefined) {
        throw new StartupError(`there is no AppRole ${printable(name)}`)
      }
      await confirm(`Delete AppRole ${printable(name)}, its secret ids and its tokens?`)
      await api.ask('DELETE', roleAt(name))
      show({ deleted: { approle: name } }, [`deleted AppRole ${printable(name)}`])
    }
  },
}
