import { useMutation } from '@tanstack/react-query'
import { Fragment, useState } from 'react'
import { Label, TextArea, TextField } from 'react-aria-components'
import { queryClient } from '../../api.ts'
import { CodeBlock } from '../../parts/code-block.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { Failure } from '../../parts/errors.tsx'
import { Field } from '../../parts/field.tsx'
import { Status } from '../../parts/status.tsx'
import { quoteShell } from '../../parts/table-text.ts'
import { texts } from '../../texts.ts'
import {
  type ApiOperation,
  createExample,
  type ExampleValues,
  findJsonSchema,
  listMembers,
  type Schema,
  toTarget,
} from './description.ts'

const words = texts.explorer
/** Characters of a reply that are shown. */
const maxShown = 100_000

interface ApiReply {
  readonly status: number
  readonly requestId: string | null
  readonly text: string
}

/** One operation: its request, filled with an example, and its replies. */
export function OperationView(props: { readonly operation: ApiOperation; readonly values: ExampleValues }) {
  const { operation, values } = props
  const { method, path, summary, description, parameters = [], requestBody } = operation
  const schema = findJsonSchema(requestBody)
  const [given, setGiven] = useState<Readonly<Record<string, string>>>(() =>
    Object.fromEntries(
      parameters.map(({ name, required }) => [name, required === true ? (values[name] ?? '') : '']),
    ),
  )
  const [body, setBody] = useState(() => JSON.stringify(createExample(schema, values), undefined, 2))
  const target = toTarget(operation, given)
  const request = { method, target, ...(schema !== undefined && { body }) }
  const send = useMutation({
    mutationFn: () => sendRequest(request),
    onSuccess: () => void (method !== 'GET' && queryClient.invalidateQueries()),
  })
  return (
    <>
      <h2>{summary}</h2>
      <p>
        <code>
          {method} {path}
        </code>
      </p>
      {description !== undefined && <p>{description}</p>}
      {parameters.map(({ name, in: where, required, description: help }) => (
        <Field
          key={name}
          label={words.parameter(name, where, required === true)}
          help={help}
          value={given[name] ?? ''}
          onChange={(value) => setGiven({ ...given, [name]: value })}
        />
      ))}
      {schema !== undefined && (
        <TextField className="field" value={body} onChange={setBody}>
          <Label>{words.body}</Label>
          <TextArea className="input" rows={10} spellCheck="false" />
        </TextField>
      )}
      {requestBody !== undefined && schema === undefined ? (
        <p>{words.otherBody(Object.keys(requestBody.content ?? {}).join(', '))}</p>
      ) : (
        <Send method={method} target={target} isPending={send.isPending} send={() => send.mutateAsync()} />
      )}
      {send.error !== null && <Failure error={send.error} />}
      {send.data !== undefined && <ReplyView reply={send.data} />}
      <h3>{words.inCode}</h3>
      <CodeBlock label={words.inCode} samples={[{ title: 'curl', code: toCurl(request) }]} />
      {schema !== undefined && <Members title={words.members} schema={schema} />}
      <Responses operation={operation} />
    </>
  )
}

interface ApiRequest {
  readonly method: string
  readonly target: string
  readonly body?: string
}

async function sendRequest({ method, target, body }: ApiRequest): Promise<ApiReply> {
  const reply = await fetch(target, {
    method,
    headers: body === undefined ? {} : { 'Content-Type': 'application/json' },
    body: body ?? null,
    credentials: 'same-origin',
    redirect: 'manual',
    cache: 'no-store',
  })
  return { status: reply.status, requestId: reply.headers.get('x-request-id'), text: await reply.text() }
}

/** Deletion asks first. */
function Send(props: {
  readonly method: string
  readonly target: string
  readonly isPending: boolean
  readonly send: () => Promise<unknown>
}) {
  const { method, target, isPending, send } = props
  if (method === 'DELETE')
    return (
      <Confirm verb={words.sendDelete} title={words.confirmDelete(target)} onConfirm={send}>
        <p>{words.confirmHelp}</p>
      </Confirm>
    )
  return (
    <button
      type="button"
      className="button primary"
      disabled={isPending}
      onClick={() => void send().catch(() => undefined)}
    >
      {words.send}
    </button>
  )
}

function ReplyView({ reply: { status, requestId, text } }: { readonly reply: ApiReply }) {
  return (
    <section aria-label={words.reply} role="status">
      <h3>{words.reply}</h3>
      <p>
        <Status kind={status < 400 ? 'good' : 'danger'}>{words.status(status)}</Status>
        {requestId !== null && <span className="quiet"> {words.requestId(requestId)}</span>}
      </p>
      {text !== '' && <CodeBlock label={words.reply} samples={[{ title: 'JSON', code: formatBody(text) }]} />}
    </section>
  )
}

function formatBody(text: string): string {
  let shown = text
  try {
    shown = JSON.stringify(JSON.parse(text), undefined, 2)
  } catch {
    // Not JSON: as it is.
  }
  return shown.length > maxShown ? `${shown.slice(0, maxShown)}\n${words.cut(shown.length)}` : shown
}

function toCurl({ method, target, body }: ApiRequest): string {
  const parts = [
    `curl --cacert ca.crt -X ${method}`,
    `-H "Authorization: Bearer $TOKEN"`,
    ...(body === undefined
      ? []
      : [`-H 'Content-Type: application/json'`, `--data ${quoteShell(minify(body))}`]),
    quoteShell(`${window.location.origin}${target}`),
  ]
  return parts.join(' \\\n  ')
}

function minify(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body))
  } catch {
    return body
  }
}

function Members({ title, schema }: { readonly title: string; readonly schema: Schema }) {
  const members = listMembers(schema)
  if (members.length === 0) return null
  return (
    <>
      <h3>{title}</h3>
      <dl className="facts">
        {members.map(({ name, type, isRequired, description }) => (
          <Fragment key={name}>
            <dt>
              <code>{name}</code>
            </dt>
            <dd>
              <code>{type}</code>
              {isRequired && ` ${words.required}`}
              {description !== '' && <p className="quiet">{description}</p>}
            </dd>
          </Fragment>
        ))}
      </dl>
    </>
  )
}

function Responses({ operation: { responses } }: { readonly operation: ApiOperation }) {
  return (
    <>
      <h3>{words.replies}</h3>
      <dl className="facts">
        {Object.entries(responses).map(([status, { description }]) => (
          <Fragment key={status}>
            <dt>{status}</dt>
            <dd>{description}</dd>
          </Fragment>
        ))}
      </dl>
    </>
  )
}
