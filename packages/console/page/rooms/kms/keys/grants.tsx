import type { Reply } from '@warder/client/browser'
import { useState } from 'react'
import { kms } from '../../../api.ts'
import { CodeBlock } from '../../../parts/code-block.tsx'
import { type Column, DataTable } from '../../../parts/data-table.tsx'
import { Empty } from '../../../parts/empty.tsx'
import { Failure } from '../../../parts/errors.tsx'
import { Field, Form } from '../../../parts/field.tsx'
import { quoteShell } from '../../../parts/table-text.ts'
import { showToast } from '../../../parts/toasts.tsx'
import { texts } from '../../../texts.ts'
import { type ApprovalRequest, GuardedAct, NeedsApproval, needsApproval } from './act.tsx'
import type { KeyProps } from './rights.ts'

const words = texts.key.grants
type Grant = Reply<'access.list'>[number]
type Kind = keyof typeof words.kinds
const kinds = Object.keys(words.kinds) as Kind[]
const rights = Object.keys(words.texts) as (keyof typeof words.texts)[]

/** Who may use the key, with whom it can be shared, and with whom no longer. */
export function Grants({ of: key, may }: KeyProps) {
  const kid = key.version_of ?? key.kid
  const isAllowed = may('authorize')
  const { data, error, refetch } = kms.useOperation(
    'access.list',
    { path: { object_id: kid } },
    { enabled: isAllowed },
  )
  if (!isAllowed) return <p className="notice">{texts.key.noRight('authorize')}</p>
  if (error !== null) return <Failure error={error} retry={() => void refetch()} />
  const columns: readonly Column<Grant>[] = [
    { title: words.user, value: (row) => row.user_id },
    { title: words.rights, value: ({ operations }) => operations },
    { title: words.by, value: ({ tag }) => (tag === undefined ? words.direct : words.byTag(tag)) },
    { title: words.acts, value: () => undefined, cell: (row) => <Revoke of={row} kid={kid} /> },
  ]
  return (
    <>
      <DataTable
        caption={words.caption}
        columns={columns}
        rows={data}
        rowKey={({ user_id: user, tag }) => `${user} ${tag ?? ''}`}
        command={`warder access list ${quoteShell(kid)}`}
        empty={
          <Empty title={words.empty}>
            <p>{words.emptyHelp}</p>
          </Empty>
        }
      />
      <h2>{words.add}</h2>
      {key.linked_kid !== undefined && <p className="quiet">{words.pair}</p>}
      <GrantForm kid={kid} usual={suggestRights(key)} />
    </>
  )
}

/** Rights that a user of the key needs. */
function suggestRights({ key_ops: ops, kty, object_type: type }: KeyProps['of']): ReadonlySet<string> {
  const isPublic = type === 'PublicKey'
  const isMac = kty === 'oct' && ops.includes('sign')
  const uses = [
    ops.includes('encrypt') && 'encrypt',
    ops.includes('decrypt') && !isPublic && 'decrypt',
    ops.includes('sign') && !isMac && !isPublic && 'sign',
    ops.includes('verify') && !isMac && 'signatureverify',
    isMac && 'mac',
    'getattributes',
  ]
  return new Set(uses.filter((right) => right !== false))
}

function Revoke({
  of: { user_id: user, operations, tag },
  kid,
}: {
  readonly of: Grant
  readonly kid: string
}) {
  const revoke = kms.useAct('access.revoke')
  const target = tag === undefined ? { unique_identifier: kid } : { tag }
  return (
    <GuardedAct
      verb={words.revoke}
      title={words.revokeTitle(user)}
      done={words.revoked}
      run={() => revoke.mutateAsync({ body: { ...target, user_id: user, operation_types: [...operations] } })}
    >
      <p>{words.revokeHelp(operations.join(', '))}</p>
      {tag !== undefined && <p className="notice">{words.revokeTagHelp(tag)}</p>}
    </GuardedAct>
  )
}

/** The grantee in the form of the service. */
function toGrantee(kind: Kind, name: string): string {
  if (kind === 'everyone') return '*'
  const prefix = { user: '', group: 'group:', role: 'role:', machine: 'app:' }[kind]
  return name.startsWith(prefix) ? name : `${prefix}${name}`
}

function GrantForm({ kid, usual }: { readonly kid: string; readonly usual: ReadonlySet<string> }) {
  const grant = kms.useAct('access.grant')
  const [kind, setKind] = useState<Kind>('user')
  const [name, setName] = useState('')
  const [chosen, setChosen] = useState(usual)
  const [isAnyway, setIsAnyway] = useState(false)
  const [problem, setProblem] = useState<string>()
  const user = toGrantee(kind, name.trim())
  const names = rights.filter((right) => chosen.has(right))
  const request: ApprovalRequest = { operation: 'grant', key: kid, user_id: user, operation_types: names }
  const submit = (): void => {
    setProblem(names.length === 0 ? words.choose : undefined)
    if (names.length === 0) return
    const isUser = kind === 'user' || kind === 'machine'
    grant.mutate(
      {
        body: {
          ...{ unique_identifier: kid, user_id: user, operation_types: names },
          ...(isUser && !isAnyway && { known: true }),
        },
      },
      {
        onSuccess({ user_id: granted, known }) {
          showToast(known === false ? words.grantedUnknown(granted) : words.granted(granted))
          setName('')
        },
      },
    )
  }
  const toggle = (right: string): void => {
    const next = new Set(chosen)
    if (!next.delete(right)) next.add(right)
    setChosen(next)
  }
  const anyway = isAnyway ? ' --anyway' : ''
  const command = `warder access grant ${quoteShell(kid)} ${quoteShell(user === '' ? 'USER' : user)} ${names.join(' ')}${anyway}`
  return (
    <>
      <Form
        submit={words.submit}
        isPending={grant.isPending}
        error={problem ?? (needsApproval(grant.error) ? undefined : grant.error)}
        onSubmit={submit}
      >
        <label className="field">
          <span>{words.to}</span>
          <select className="input" value={kind} onChange={({ target }) => setKind(target.value as Kind)}>
            {kinds.map((each) => (
              <option key={each} value={each}>
                {words.kinds[each]}
              </option>
            ))}
          </select>
        </label>
        {kind !== 'everyone' && (
          <Field
            label={words.name}
            help={words.nameHelp[kind]}
            value={name}
            onChange={setName}
            isRequired
            autoComplete="off"
            maxLength={256}
          />
        )}
        <fieldset className="choices">
          <legend>{words.rightsLabel}</legend>
          {rights.map((right) => (
            <label key={right}>
              <input type="checkbox" checked={chosen.has(right)} onChange={() => toggle(right)} />{' '}
              {words.texts[right]} <code>{right}</code>
            </label>
          ))}
        </fieldset>
        {(kind === 'user' || kind === 'machine') && (
          <label>
            <input type="checkbox" checked={isAnyway} onChange={() => setIsAnyway(!isAnyway)} />{' '}
            {words.unknownName}
          </label>
        )}
      </Form>
      {needsApproval(grant.error) && <NeedsApproval key={JSON.stringify(request)} request={request} />}
      <CodeBlock label={texts.key.command} samples={[{ title: texts.key.command, code: command }]} />
    </>
  )
}
