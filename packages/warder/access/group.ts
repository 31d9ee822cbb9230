import type { KmsClient, Reply } from '@warder/client'
import { formatTable, printable, requireNoNames, requireOneName, UsageError } from '@warder/command-line'
import { kmsVerb } from '@warder/command-line/kms'

type Group = Reply<'access.groups.read'>

const groupPrefix = 'group:'

/** Groups are also accepted by their name in grants. @throws UsageError */
function readName(text: string): string {
  const name = text.startsWith(groupPrefix) ? text.slice(groupPrefix.length) : text
  if (/^\.{0,2}$/.test(name)) throw new UsageError(`'${text}' is not the name of a group`)
  return name
}

function readGroup(kms: KmsClient, name: string): Promise<Group> {
  return kms.call('access.groups.read', { path: { name } })
}

function formatGroup({ user_id, members, owners, version, changed_at }: Group): readonly string[] {
  const list = (names: readonly string[]): string => names.map(printable).join(' ') || '(none)'
  return [
    `group    ${printable(user_id)}`,
    `members  ${list(members)}`,
    `owners   ${list(owners)}`,
    `changed  ${changed_at}, version ${version}`,
  ]
}

const putVerb = kmsVerb({
  name: 'group put',
  words: 'NAME MEMBER...',
  summary: 'Create a group, or change its members, from the next request on',
  about: `MEMBER is a user, app:ID for a machine, another group (group:NAME), or a pattern with one '*' ('app:web-*'). The members
replace those of the group; with --add or --remove the others stay. Requires an owner of the group, a crypto officer, or
for a new group the right to create keys. Rights are granted to group:NAME: warder access grant KEY group:NAME RIGHT...`,
  examples: [
    "warder access group put ops bob carol 'app:web-*'",
    'warder access group put ops dave --add',
    'warder access group put ops bob --remove',
    'warder access group put ops bob --owner ann --owner dan',
  ],
  options: {
    add: { type: 'flag', help: 'adds the members to those of the group' },
    remove: { type: 'flag', help: 'removes the members from the group' },
    owner: {
      type: 'list',
      value: 'USER',
      help: 'who may change the group, in place of its owners (may be repeated); default: as they are',
    },
  },
  parse({ add, remove, owner: owners }, [given, ...members]) {
    if (given === undefined) throw new UsageError('name the group: warder access group put NAME MEMBER...')
    if (add && remove) throw new UsageError('--add and --remove exclude each other')
    const name = readName(given)
    return async ({ kms, show }) => {
      const present = add || remove ? await readGroup(kms, name) : undefined
      const kept = present?.members.filter((member) => !members.includes(member)) ?? []
      const body = {
        members: remove ? kept : [...kept, ...members],
        ...(owners.length > 0 && { owners: [...owners] }),
        ...(present !== undefined && { version: present.version }),
      }
      const group = await kms.call('access.groups.replace', { path: { name }, body })
      show(group, formatGroup(group))
      return 0
    }
  },
})

const showVerb = kmsVerb({
  name: 'group show',
  words: 'NAME',
  summary: 'Show the members and owners of a group',
  about: 'Requires a member or an owner of the group, or a crypto officer.',
  examples: ['warder access group show ops', 'warder access group show ops --json | jq -r .members[]'],
  options: {},
  parse(_, names) {
    const name = readName(requireOneName(names, 'group'))
    return async ({ kms, show }) => {
      const group = await readGroup(kms, name)
      show(group, formatGroup(group))
      return 0
    }
  },
})

const listVerb = kmsVerb({
  name: 'group list',
  words: '',
  summary: 'List the groups that you own or are in; crypto officers list all groups',
  about: 'The groups of another user: warder access report --leaver USER.',
  examples: ['warder access group list'],
  options: {},
  parse(_, names) {
    requireNoNames(names)
    return async ({ kms, show }) => {
      const groups: Reply<'access.groups.list'>[number][] = []
      for (let after: string | undefined, isMore = true; isMore; isMore = after !== undefined) {
        const page = await kms.page('access.groups.list', { query: after === undefined ? {} : { after } })
        groups.push(...page.rows)
        after = page.next
      }
      const rows = groups.map(({ user_id, created_by, changed_at }) => [user_id, created_by, changed_at])
      show(groups, formatTable(['GROUP', 'CREATED BY', 'CHANGED'], rows, 'there are no groups'))
      return 0
    }
  },
})

const deleteVerb = kmsVerb({
  name: 'group delete',
  words: 'NAME',
  summary: 'Delete a group, with the grants to it',
  about:
    'Requires an owner of the group, or a crypto officer. A later group of the name has none of the rights.',
  examples: ['warder access group delete ops'],
  options: {},
  parse(_, names) {
    const name = readName(requireOneName(names, 'group'))
    return async ({ kms, show, confirm }) => {
      const { members } = await readGroup(kms, name)
      await confirm(`Delete the group ${printable(name)} (${members.length} members) and the grants to it?`)
      await kms.call('access.groups.delete', { path: { name } })
      show({ deleted: name }, [`deleted: group ${printable(name)}`])
      return 0
    }
  },
})

export const groupVerbs = [putVerb, showVerb, listVerb, deleteVerb]
