import type { AuthReply } from '@warder/client/browser'
import { useState } from 'react'
import { Button, Dialog, DialogTrigger, Heading, Modal, ModalOverlay } from 'react-aria-components'
import { auth } from '../../../api.ts'
import { Confirm } from '../../../parts/confirm.tsx'
import { type Column, DataTable } from '../../../parts/data-table.tsx'
import { Empty } from '../../../parts/empty.tsx'
import { Failure } from '../../../parts/errors.tsx'
import { Field, Form } from '../../../parts/field.tsx'
import { Status } from '../../../parts/status.tsx'
import { toCurl } from '../../../parts/table-text.ts'
import { Time } from '../../../parts/time.tsx'
import { showToast } from '../../../parts/toasts.tsx'
import { texts } from '../../../texts.ts'
import { createPasskey, hasPasskeys } from '../passkey.ts'
import { useAccount, useAccountAct } from './recent-login.tsx'

const words = texts.passkeys

type Passkey = AuthReply<'passkeys.list'>['passkeys'][number]

const toIso = (seconds: number | null): string | undefined =>
  seconds === null ? undefined : new Date(seconds * 1000).toISOString()

const columns: readonly Column<Passkey>[] = [
  { title: words.name, value: ({ name }) => name },
  {
    title: words.created,
    value: ({ created_at: at }) => toIso(at),
    cell: ({ created_at: at }) => <Time at={at * 1000} isShort />,
  },
  {
    title: words.lastUsed,
    value: ({ last_used_at: at }) => toIso(at),
    cell: ({ last_used_at: at }) => <Time at={at === null ? undefined : at * 1000} isShort />,
  },
  {
    title: words.notes,
    value: (passkey) => [
      ...(passkey.counter_regressed_at === null ? [] : [words.copied]),
      ...(passkey.backed_up ? [words.backedUp] : []),
    ],
    cell: ({ counter_regressed_at: at, backed_up: isCopied }) => (
      <>
        {at !== null && <Status kind="danger">{words.copied}</Status>} {isCopied && words.backedUp}
      </>
    ),
  },
  { title: words.actions, value: () => undefined, cell: (passkey) => <Actions passkey={passkey} /> },
]

/** The passkeys of the user. @param props.onCodes shows recovery codes */
export function Passkeys({ onCodes }: { readonly onCodes: (codes: readonly string[]) => void }) {
  const { account } = useAccount()
  const { realm_id: realm, auth_scheme: scheme } = account
  const methods = auth.useOperation('login.methods', { path: { realm_id: realm } })
  const list = auth.useOperation('passkeys.list', {})
  if (scheme !== 'up' && scheme !== 'f2') return <p>{words.elsewhere}</p>
  if (list.error !== null) return <Failure error={list.error} retry={() => void list.refetch()} />
  const isAllowed = methods.data?.methods.includes('passkey') ?? true
  const passkeys = list.data?.passkeys
  if (!isAllowed && passkeys?.length === 0) return <p>{words.unavailable}</p>
  return (
    <>
      <p>{words.help}</p>
      <DataTable
        caption={words.caption}
        columns={columns}
        rows={passkeys}
        rowKey={({ id }) => id}
        command={toCurl('/account/passkeys')}
        empty={
          <Empty title={words.empty}>
            <p>{words.emptyHelp}</p>
          </Empty>
        }
      />
      {!isAllowed ? <p>{words.unavailable}</p> : <Register onCodes={onCodes} />}
    </>
  )
}

/** The page is not below the domain of the passkeys. */
class OtherSite extends Error {}

function requireSite(id: string): void {
  const { hostname, port, pathname } = window.location
  if (hostname === id || hostname.endsWith(`.${id}`)) return
  throw new OtherSite(words.otherSite(id, `https://${id}${port === '' ? '' : `:${port}`}${pathname}`))
}

function describe(error: unknown, problem: unknown): unknown {
  if (error instanceof OtherSite) return error.message
  return error instanceof DOMException ? words.refused : problem
}

function Register({ onCodes }: { readonly onCodes: (codes: readonly string[]) => void }) {
  const [round, setRound] = useState(0)
  const register = useAccountAct(async (name: string) => {
    const options = await auth.client.call('passkeys.register_options')
    requireSite(options.rp.id)
    const body = { name, credential: await createPasskey(options) }
    const { recovery_codes: codes } = await auth.client.call('passkeys.register', { body })
    setRound(round + 1)
    showToast(words.registered(name))
    if (codes !== undefined) onCodes(codes)
  })
  if (!hasPasskeys()) return <p className="quiet">{words.unsupported}</p>
  return (
    <Form
      key={round}
      submit={words.register}
      isPending={register.isPending}
      error={describe(register.error, register.problem)}
      onSubmit={({ name = '' }) => register.mutate(name)}
    >
      <NameField label={words.newName} />
    </Form>
  )
}

function NameField({ label, value = '' }: { readonly label: string; readonly value?: string }) {
  return (
    <Field
      label={label}
      help={words.nameHelp}
      name="name"
      defaultValue={value}
      isRequired
      maxLength={64}
      autoComplete="off"
    />
  )
}

function Actions({ passkey: { id, name } }: { readonly passkey: Passkey }) {
  const remove = useAccountAct(async () => {
    await auth.client.call('passkeys.delete', { path: { passkey_id: id } })
    showToast(words.removed)
  })
  return (
    <div className="actions">
      <Rename id={id} name={name} />
      <Confirm verb={words.remove} title={words.removeTitle(name)} onConfirm={() => remove.mutateAsync()}>
        <p>{words.removeHelp}</p>
      </Confirm>
    </div>
  )
}

function Rename({ id, name }: { readonly id: string; readonly name: string }) {
  const [isOpen, setIsOpen] = useState(false)
  const rename = useAccountAct(async (chosen: string) => {
    await auth.client.call('passkeys.rename', { path: { passkey_id: id }, body: { name: chosen } })
    setIsOpen(false)
  })
  return (
    <DialogTrigger isOpen={isOpen} onOpenChange={setIsOpen}>
      <Button className="button">{words.rename}</Button>
      <ModalOverlay className="overlay" isDismissable>
        <Modal className="modal">
          <Dialog className="dialog">
            <Heading slot="title">{words.renameTitle(name)}</Heading>
            <Form
              submit={words.save}
              isPending={rename.isPending}
              error={rename.problem}
              onSubmit={({ name: chosen = '' }) => rename.mutate(chosen)}
              actions={
                <button type="button" className="button" onClick={() => setIsOpen(false)}>
                  {texts.parts.cancel}
                </button>
              }
            >
              <NameField label={words.name} value={name} />
            </Form>
          </Dialog>
        </Modal>
      </ModalOverlay>
    </DialogTrigger>
  )
}
