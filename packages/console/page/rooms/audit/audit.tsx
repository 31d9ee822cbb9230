import type { Reply } from '@warder/client/browser'
import { useMemo, useState } from 'react'
import { Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components'
import { kms } from '../../api.ts'
import { RoomHeader } from '../../frame/room-header.tsx'
import { useInfo } from '../../frame/session.ts'
import { CodeBlock } from '../../parts/code-block.tsx'
import { toCommand } from '../../parts/command.ts'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Failure } from '../../parts/errors.tsx'
import { Choice, Field } from '../../parts/field.tsx'
import { FilterForm } from '../../parts/filters.tsx'
import { navigate } from '../../parts/router.ts'
import { Status } from '../../parts/status.tsx'
import { Time } from '../../parts/time.tsx'
import type { RoomProps } from '../../room.ts'
import { texts } from '../../texts.ts'
import { Counts } from './counts.tsx'
import { type Filter, filters, readFilter } from './filter.ts'

import './audit.css'

const words = texts.audit
type AuditRecord = Reply<'audit.records'>['records'][number]
type Node = Reply<'audit.verify'>['nodes'][number]

// Both services declare the same operations for their logs, so that the client of one serves both.
const api = kms

const tailMs = 5000

/** The audit log of this service on all nodes, newest records first. */
export function Room({ query }: RoomProps) {
  const filter = readFilter(query)
  const service = useInfo().data?.service
  const pages = api.usePages('audit.records', { query: filter }, ({ records }) => records)
  const [isFollowed, setIsFollowed] = useState(false)
  // The newest page alone, and only while the page is visible.
  const newest = api.useOperation(
    'audit.records',
    { query: filter },
    { enabled: isFollowed, refetchInterval: tailMs },
  )
  const error = isFollowed ? newest.error : pages.error
  const [opened, setOpened] = useState<AuditRecord>()
  const columns = useMemo(() => listColumns(setOpened), [])
  const options = Object.fromEntries(
    Object.entries(filter).map(([name, value]) => [filters[name as keyof typeof filters], value]),
  )
  const command = toCommand('warder audit find', [], {
    ...(service === 'auth' && { service }),
    ...options,
  })
  return (
    <>
      <RoomHeader title={words.title}>{words.description}</RoomHeader>
      <Chain />
      <Filters key={query.toString()} filter={filter} />
      <label className="check">
        <input
          type="checkbox"
          checked={isFollowed}
          onChange={({ target }) => setIsFollowed(target.checked)}
        />{' '}
        {words.follow}
      </label>
      {error !== null && <Failure error={error} retry={() => void (isFollowed ? newest : pages).refetch()} />}
      {error === null && pages.rows !== undefined && (
        <Counts key={`counts ${query}`} filter={filter} service={service} options={options} />
      )}
      {error === null && (
        <DataTable
          caption={words.caption}
          columns={columns}
          rows={isFollowed ? newest.data?.records : pages.rows}
          rowKey={({ hash }) => hash}
          command={command}
          empty={<Empty title={words.nothingFound}>{words.nothingFoundHelp}</Empty>}
          loadMore={!isFollowed && pages.hasNextPage ? () => void pages.fetchNextPage() : undefined}
          isLoadingMore={pages.isFetchingNextPage}
        />
      )}
      <h2>{words.export}</h2>
      <p>{words.exportHelp}</p>
      <CodeBlock label={words.export} samples={[{ title: texts.parts.command, code: `${command} --csv` }]} />
      {opened !== undefined && <RecordDialog record={opened} close={() => setOpened(undefined)} />}
    </>
  )
}

const listColumns = (open: (record: AuditRecord) => void): readonly Column<AuditRecord>[] => [
  { title: words.time, value: ({ time }) => time, cell: ({ time }) => <Time at={time} isShort /> },
  {
    title: words.operation,
    value: ({ operation }) => operation,
    cell: (record) => (
      <button type="button" className="record" onClick={() => open(record)}>
        {record.operation}
      </button>
    ),
  },
  { title: words.principal, value: ({ principal }) => principal },
  { title: words.object, value: ({ object }) => object },
  {
    title: words.outcome,
    value: ({ outcome, reason }) => (reason === undefined ? outcome : `${outcome}: ${reason}`),
    cell: ({ outcome, reason }) => (
      <Status kind={outcome === 'success' ? 'good' : 'danger'}>
        <bdi>{reason ?? outcome}</bdi>
      </Status>
    ),
  },
  { title: words.address, value: ({ client_ip }) => client_ip },
  { title: words.node, value: ({ node }) => node },
]

function Filters({ filter }: { readonly filter: Filter }) {
  const apply = (values: Readonly<Record<string, string>>): void => {
    const given = Object.entries(values).filter(([, value]) => value !== '')
    navigate(`/ui/audit${given.length === 0 ? '' : `?${new URLSearchParams(given)}`}`)
  }
  const field = (name: Exclude<keyof typeof filters, 'outcome'>) => (
    <Field label={words.filters[name]} name={name} defaultValue={filter[name] ?? ''} />
  )
  return (
    <FilterForm label={words.search} onApply={apply}>
      {field('principal')}
      {field('object')}
      {field('operation')}
      <Choice
        label={words.outcome}
        name="outcome"
        value={filter.outcome ?? ''}
        options={[
          { value: '', text: words.anyOutcome },
          { value: 'success', text: 'success' },
          { value: 'failure', text: 'failure' },
        ]}
      />
      {field('address')}
      {field('request_id')}
      {field('text')}
      {field('since')}
      {field('until')}
    </FilterForm>
  )
}

/** Verifies the chain when the user asks for it: it reads the whole log. */
function Chain() {
  const [isAsked, setIsAsked] = useState(false)
  const { data, error, isFetching, refetch } = api.useOperation('audit.verify', {}, { enabled: isAsked })
  const verify = (): void => {
    if (isAsked) void refetch()
    else setIsAsked(true)
  }
  return (
    <section aria-label={words.chain} className="chain">
      <button type="button" className="button" disabled={isFetching} onClick={verify}>
        {words.verify}
      </button>
      <div role="status">
        {isFetching && <p>{words.verifying}</p>}
        {error !== null && <Failure error={error} />}
        {!isFetching && data?.nodes.map((node) => <NodeState key={node.node} node={node} />)}
      </div>
    </section>
  )
}

function NodeState({
  node: { node, answered, ok, records = 0, reason, broken, head },
}: {
  readonly node: Node
}) {
  const state = answered ? (ok ? words.intact(records) : words.broken) : words.noAnswer
  return (
    <p>
      <Status kind={ok ? 'good' : 'danger'}>
        <bdi>{node}</bdi>: {state}
      </Status>{' '}
      {reason !== undefined && <bdi>{reason}</bdi>}
      {broken !== undefined && words.brokenAt(broken.file, broken.line, broken.reason)}
      {head !== undefined && (
        <span className="quiet">
          {words.head(head.seq)} <code>{head.hash}</code>
        </span>
      )}
    </p>
  )
}

function RecordDialog(props: { readonly record: AuditRecord; readonly close: () => void }) {
  const { record, close } = props
  return (
    <ModalOverlay className="overlay" isOpen isDismissable onOpenChange={(isOpen) => !isOpen && close()}>
      <Modal className="modal">
        <Dialog className="dialog">
          <Heading slot="title">{words.record(record.seq)}</Heading>
          <Time at={record.time} />
          <CodeBlock
            label={words.record(record.seq)}
            samples={[{ title: 'JSON', code: JSON.stringify(record, undefined, 2) }]}
          />
          <div className="actions">
            <button type="button" className="button" onClick={close}>
              {texts.parts.dismiss}
            </button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}
