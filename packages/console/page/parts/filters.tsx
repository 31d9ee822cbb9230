import type { ReactNode } from 'react'
import { texts } from '../texts.ts'
import { Form } from './field.tsx'

/** The filters of a list. */
export function FilterForm(props: {
  /** The name of the region for screen readers. */
  readonly label: string
  readonly submit?: string
  readonly children: ReactNode
  /** Values of the fields by their names; without any, the filters are removed. */
  readonly onApply: (values: Readonly<Record<string, string>>) => void
}) {
  const { label, submit = texts.parts.applyFilters, children, onApply } = props
  return (
    <search className="filters" aria-label={label}>
      <Form
        submit={submit}
        onSubmit={onApply}
        actions={
          <button type="button" className="button" onClick={() => onApply({})}>
            {texts.parts.clearFilters}
          </button>
        }
      >
        {children}
      </Form>
    </search>
  )
}
