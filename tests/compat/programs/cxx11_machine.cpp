// SPDX-License-Identifier: MIT
// A state machine as programs of C++11 have it: event data from xallocator, states in a table whose
// length is checked by C_ASSERT, and a static machine that is used before and after main.
#include "DataTypes.h"
#include "Fault.h"
#include "xallocator.h"
#include <iostream>

using namespace std;

class EventData
{
public:
  virtual ~EventData() {}
  XALLOCATOR
};

class SpeedData : public EventData
{
public:
  SpeedData(INT theSpeed) : speed(theSpeed) {}
  INT speed;
};

class Machine
{
public:
  Machine() : state(ST_IDLE), speed(0) {}
  ~Machine() { Event(ST_IDLE, new EventData); }

  void Event(BYTE newState, const EventData* data)
  {
    static const Action actions[] = {&Machine::Idle, &Machine::Run, &Machine::Stop};
    C_ASSERT((sizeof(actions) / sizeof(actions[0])) == ST_MAX_STATES);
    ASSERT_TRUE(newState < ST_MAX_STATES);
    state = newState;
    (this->*actions[state])(data);
    delete data;
  }

  enum States { ST_IDLE, ST_RUN, ST_STOP, ST_MAX_STATES };
  XALLOCATOR

private:
  typedef void (Machine::*Action)(const EventData* data);
  void Idle(const EventData*) { speed = 0; }
  void Run(const EventData* data) { speed = static_cast<const SpeedData*>(data)->speed; }
  void Stop(const EventData*) { cout << "stopped at " << speed << endl; }

  BYTE state;
  INT speed;
};

static Machine early;

int main()
{
  Machine* machine = new Machine;
  Machine* machines = new Machine[3];
  for (INT i = 0; i < 3; i++)
  {
    machine->Event(Machine::ST_RUN, new SpeedData(i));
    machines[i].Event(Machine::ST_RUN, new (nothrow) SpeedData(10 * i));
  }
  machine->Event(Machine::ST_STOP, new EventData);
  machines[1].Event(Machine::ST_STOP, NULL);
  delete[] machines;
  delete machine;
  return 0;
}
