import type { Reply } from '@warder/client/browser'
import { kms } from '../../../api.ts'
import { CodeBlock } from '../../../parts/code-block.tsx'
import { type Column, DataTable } from '../../../parts/data-table.tsx'
import { Empty } from '../../../parts/empty.tsx'
import { Failure } from '../../../parts/errors.tsx'
import { Choice, Field, Form } from '../../../parts/field.tsx'
import { navigate } from '../../../parts/router.ts'
import { Skeleton } from '../../../parts/skeleton.tsx'
import { Status } from '../../../parts/status.tsx'
import { quoteShell } from '../../../parts/table-text.ts'
import type { RoomProps } from '../../../room.ts'
import { texts } from '../../../texts.ts'
import { AccessHeader, keyRights } from './frame.tsx'

const words = texts.explain
type Answer = Reply<'access.explain'>
type Reason = Answer['reasons'][number]

interface Question {
  readonly user: string
  readonly key: string
  readonly operation: string
}

/** Why a user may or may not use a key; the question is in the address. */
export function Room({ query }: RoomProps) {
  const [user, key, operation] = ['user', 'key', 'operation'].map((name) => query.get(name) ?? '')
  const question = { user: user ?? '', key: key ?? '', operation: operation || 'encrypt' }
  const isComplete = question.user !== '' && question.key !== ''
  const ask = (values: Readonly<Record<string, string>>): void =>
    navigate(`/ui/access/explain?${new URLSearchParams(values)}`)
  return (
    <>
      <AccessHeader current="explain" title={words.title}>
        {words.description}
      </AccessHeader>
      <search className="filters" aria-label={words.title}>
        <Form key={query.toString()} submit={words.ask} onSubmit={ask}>
          <Field label={words.user} name="user" defaultValue={question.user} isRequired />
          <Field label={words.key} help={words.keyHelp} name="key" defaultValue={question.key} isRequired />
          <Choice
            label={words.operation}
            name="operation"
            value={question.operation}
            options={keyRights.map((right) => ({ value: right, text: right }))}
          />
        </Form>
      </search>
      {isComplete ? (
        <Explanation question={question} />
      ) : (
        <Empty title={words.ask1}>
          <p>{words.ask1Help}</p>
        </Empty>
      )}
    </>
  )
}

const columns: readonly Column<Reason>[] = [
  {
    title: words.effect,
    value: ({ allows }) => (allows ? words.allows : words.forbids),
    cell: ({ allows }) => (
      <Status kind={allows ? 'good' : 'danger'}>{allows ? words.allows : words.forbids}</Status>
    ),
  },
  {
    title: words.kind,
    value: ({ kind }) => kind,
    cell: ({ kind }) => (words.kinds as Readonly<Record<string, string>>)[kind] ?? kind,
  },
  { title: words.text, value: ({ text }) => text, cell: ({ text }) => <bdi className="wrap">{text}</bdi> },
  { title: words.path, value: ({ path }) => path?.join(' > ') },
]

function Explanation({ question }: { readonly question: Question }) {
  const { user, key, operation } = question
  const { data, error, refetch } = kms.useOperation('access.explain', {
    body: { user_id: user, unique_identifier: key, operation },
  })
  if (error !== null) return <Failure error={error} retry={() => void refetch()} />
  if (data === undefined) return <Skeleton />
  const { allowed, reasons, step } = data
  const command = `warder access explain --as ${quoteShell(user)} --key ${quoteShell(key)} --use ${quoteShell(operation)}`
  return (
    <>
      <section className={`notice ${allowed ? '' : 'danger'}`} role="status">
        <h2>
          <bdi>
            {allowed
              ? words.allowed(data.user_id, data.operation)
              : words.refused(data.user_id, data.operation)}
          </bdi>
        </h2>
        <p>
          <Status kind={allowed ? 'good' : 'danger'}>
            {allowed ? words.allowedShort : words.refusedShort}
          </Status>{' '}
          <code>{data.unique_identifier}</code>
        </p>
        {step !== undefined && (
          <p>
            <strong>{words.step}:</strong> <bdi>{step}</bdi>
          </p>
        )}
      </section>
      <h2>{words.reasons}</h2>
      <DataTable
        caption={words.reasons}
        columns={columns}
        rows={reasons}
        rowKey={(reason) => JSON.stringify(reason)}
        command={command}
        empty={null}
      />
      <CodeBlock label={words.title} samples={[{ title: 'Command', code: command }]} />
    </>
  )
}
