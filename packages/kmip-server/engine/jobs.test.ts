import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createJobs } from './jobs.ts'

/** Jobs that end when they are told to, and the order in which they were begun. */
function controlled(waiting = 10) {
  const begun: string[] = []
  const errors: unknown[] = []
  const ends = new Map<string, PromiseWithResolvers<void>>()
  const jobs = createJobs(1, { waiting, bytes: 100, bytesOfOwner: 60 }, (error) => errors.push(error))
  const add = (name: string, owner = 'alice', bytes = 1) => {
    const end = Promise.withResolvers<void>()
    ends.set(name, end)
    const run = () => {
      begun.push(name)
      return end.promise
    }
    const place = jobs.reserve(owner, bytes)
    place?.fill(run, [name])
    return place !== undefined
  }
  return { jobs, begun, errors, add, end: (name: string) => ends.get(name)?.resolve(), ends }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

test('jobs run in order with bounded concurrency; urgent jobs do not wait', async () => {
  const { jobs, begun, add, end } = controlled()
  for (const name of ['one', 'two', 'three']) assert.equal(add(name), true)
  assert.deepEqual(['one', 'none'].map(jobs.stageOf), ['waiting', undefined])
  await turn()
  assert.deepEqual(begun, ['one'])
  assert.deepEqual(['one', 'two'].map(jobs.stageOf), ['running', 'waiting'])
  const hurried = jobs.hurry('three')
  assert.deepEqual(begun, ['one', 'three'])
  assert.equal(jobs.hurry('three'), 'already')
  assert.equal(jobs.hurry('none'), undefined)
  end('three')
  await hurried
  assert.equal(jobs.stageOf('three'), undefined)
  const first = jobs.hurry('one')
  assert.ok(first instanceof Promise)
  assert.deepEqual(begun, ['one', 'three'])
  end('one')
  await first
  await turn()
  assert.deepEqual(begun, ['one', 'three', 'two'])
})

test('the queue is bounded; an error of a job is reported, and the job leaves the queue', async () => {
  const { jobs, begun, errors, add, ends, end } = controlled(1)
  assert.equal(add('one'), true)
  assert.equal(add('two'), false)
  const hurried = jobs.hurry('one')
  ends.get('one')?.reject(new Error('broken'))
  await hurried
  assert.deepEqual(errors, [new Error('broken')])
  assert.equal(add('two'), true)
  await turn()
  assert.deepEqual([begun, jobs.waiting, jobs.unfinished], [['one', 'two'], 0, 1])
  end('two')
})

test('a slot is occupied from its reservation until its release', () => {
  const { jobs, add } = controlled(1)
  const place = jobs.reserve('alice', 1)
  assert.ok(place)
  assert.deepEqual([add('one'), jobs.waiting], [false, 0])
  place.giveBack()
  assert.deepEqual([add('one'), add('two'), jobs.waiting], [true, false, 1])
})

test('the bytes of jobs are bounded per owner and in total until the jobs are done', async () => {
  const { jobs, add, end } = controlled()
  assert.equal(add('one', 'alice', 61), false)
  assert.equal(add('one', 'alice', 60), true)
  assert.deepEqual([add('two', 'alice', 1), add('two', 'bob', 41)], [false, false])
  assert.equal(add('two', 'bob', 40), true)
  assert.equal(add('three', 'carol', 1), false)
  await turn()
  // It has begun, and still holds its reservation.
  assert.equal(add('three', 'carol', 1), false)
  const done = jobs.hurry('one')
  end('one')
  await done
  const place = jobs.reserve('alice', 60)
  assert.ok(place)
  assert.equal(add('three', 'carol', 1), false)
  place.giveBack()
  assert.equal(add('three', 'carol', 60), true)
})
